-- ListObjectsV2 of a file of names, KEY TAB SIZE TAB TIME TAB ETAG a line, whose keys are written as
-- in a URL; `page`: keys, and common prefixes, of an answer.

local function load_names(path)
    local all = {}
    for line in io.lines(path) do
        local key, size, time, tag = line:match("^(.*)\t(%d+)\t(%S+)\t(%S+)$")
        all[#all + 1] = {ngx.unescape_uri(key), string.format(
            "</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%s</Size></Contents>",
            time, tag:gsub('"', "&quot;"), size)}
    end
    table.sort(all, function(a, b) return a[1] < b[1] end)
    return all
end

return function(path, page)
    local all = package.loaded["bucket " .. path] or load_names(path)
    package.loaded["bucket " .. path] = all

    local function first(text)
        local low, high = 1, #all + 1
        while low < high do
            local middle = math.floor((low + high) / 2)
            if all[middle][1] < text then low = middle + 1 else high = middle end
        end
        return low
    end

    local args = ngx.req.get_uri_args()
    local prefix, token = args.prefix or "", args["continuation-token"]
    local at, found = first(prefix), 0
    local encoded = args["encoding-type"] == "url"
    local out = {"<ListBucketResult>", encoded and "<EncodingType>url</EncodingType>" or ""}
    local function goes_on()
        return at <= #all and all[at][1]:sub(1, #prefix) == prefix
    end

    local function written(name)
        return encoded and ngx.escape_uri(name) or
            name:gsub("[&<>]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"})
    end

    if args["start-after"] then at = math.max(at, first(args["start-after"] .. "\0")) end
    if token then at = tonumber(token) end
    while goes_on() and found < page do
        local key = all[at][1]
        local slash = args.delimiter and key:find(args.delimiter, #prefix + 1, true)
        if slash then
            out[#out + 1] = "<CommonPrefixes><Prefix>" .. written(key:sub(1, slash)) ..
                "</Prefix></CommonPrefixes>"
            at = first(key:sub(1, slash - 1) .. "0")  -- what is behind "/"
        else
            out[#out + 1] = "<Contents><Key>" .. written(key) .. all[at][2]
            at = at + 1
        end
        found = found + 1
    end
    if goes_on() then
        out[#out + 1] = "<NextContinuationToken>" .. at .. "</NextContinuationToken>"
    end
    out[#out + 1] = "</ListBucketResult>"
    ngx.print(table.concat(out))
    return ngx.exit(200)
end
