"""Texts that lie beside images, as datasets have them: {name: (path, text)}, of 500x375 images
whose names all begin as NAME says, or are those of `IMAGES`."""

import json

IMAGES = ["a.jpg", "img_7.jpg", "0001.jpg", "aachen_000000_000019_leftImg8bit.png"]


def lines(*texts):
    return "\n".join(texts) + "\n"


def encoded(text):
    """One that begins with the mark of the byte order is stored in two bytes a character."""
    return text.encode("utf-16-le" if text.startswith("\ufeff") else "utf-8")


def dump(*values, **options):
    return lines(*(json.dumps(value, **options) for value in values))


BOX = [100, 120, 370, 230]
OUTLINE = [[100.5, 120], [470, 350.25], [30, 300]]

# They say where something is, in pixels.
PLACES = {
    "labelme": ("images/a.json", dump({
        "version": "5.0", "shapes": [{"label": "dog", "points": OUTLINE}], "imagePath": "a.jpg",
        "imageHeight": 375, "imageWidth": 500}, indent=2)),
    "labelme, a point": ("images/a.json", dump({
        "version": "5.0", "shapes": [{"label": "nose", "points": [[100.5, 120.0]]}],
        "imagePath": "a.jpg"}, indent=2)),
    "Cityscapes": ("gtFine/aachen_000000_000019_gtFine_polygons.json", dump({
        "imgHeight": 375, "objects": [{"label": "road", "polygon": [[0, 200], [499, 200]]}]})),
    "metadata.jsonl": ("images/metadata.jsonl", dump(
        {"file_name": "x.jpg", "objects": {"bbox": [], "categories": []}},
        {"file_name": "a.jpg", "objects": {"bbox": [BOX], "categories": [0]}})),
    "VIA": ("via.json", dump({"a.jpg123": {"filename": "a.jpg", "regions": [{"shape_attributes": {
        "name": "polygon", "all_points_x": [1, 400, 300], "all_points_y": [1, 20, 300]}}]}})),
    "VIA, CSV": ("via.csv", lines(
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes",
        'a.jpg,28503,"{}",1,0,"{""name"":""circle"",""cx"":250,""cy"":180,""r"":30}"')),
    "Supervisely": ("ann/a.jpg.json", dump({
        "size": {"height": 375, "width": 500},
        "objects": [{"points": {"exterior": [[10, 10], [470, 350]], "interior": []}}]})),
    "CreateML": ("labels.json", dump([{"image": "a.jpg", "annotations": [{
        "label": "dog", "coordinates": {"x": 250, "y": 180, "width": 300, "height": 200}}]}])),
    "CVAT": ("annotations.xml", '<annotations><image name="a.jpg" width="500" height="375"><box '
             'label="car" xtl="100" ytl="120" xbr="470" ybr="350"/></image></annotations>'),
    "VOC": ("Annotations/a.xml", "<annotation>\n<filename>a.jpg</filename>\n<size><width>500"
            "</width><height>375</height></size>\n<object><name>dog</name><bndbox>\n"
            "<xmin>100</xmin>\n<ymin>120</ymin>\n<xmax>470</xmax>\n<ymax>350</ymax></bndbox>"
            "</object></annotation>"),
    "VOC without a suffix": ("Annotation/a", "<annotation><bndbox><xmin>100</xmin><ymin>120</ymin>"
                             "</bndbox></annotation>"),
    "PAGE": ("page/a.xml", '<PcGts><Page imageFilename="a.jpg"><TextRegion><Coords '
             'points="100,120 470,120 470,350"/></TextRegion></Page></PcGts>'),
    "ALTO": ("a.xml", '<alto><String HPOS="100" VPOS="120" WIDTH="30" HEIGHT="9" CONTENT="x"/>'),
    "hOCR": ("a.hocr", "<span class='ocrx_word' title='bbox 34 44 270 350; x_wconf 96'>is</span>"),
    "KITTI": ("label_2/0001.txt", "Car 0.00 0 -1.58 287.01 173.33 414.12 200.12 1.65 1.67 3.64 "
              "-0.65 1.71 46.70 -1.59\n"),
    "DOTA": ("labelTxt/a.txt", lines("imagesource:GoogleEarth", "gsd:0.146343590398",
                                     "300 200 470 200 470 340 300 340 plane 0")),
    "MOT": ("gt/gt.txt", lines(*("%d,1,312,184,97,109,0,7,1" % n for n in range(1, 9)))),
    "CelebA, points": ("list_landmarks.txt", lines(
        "1", "lefteye_x lefteye_y righteye_x righteye_y", "a.jpg 69 109 106 113 77 142 73 152")),
    "SROIE": ("a.txt", "72,25,326,25,326,64,72,64,TAN WOON, BIN 12 A B C D E F\n"),
    "cells": ("a.csv", lines("label,row,col", "1,100,200")),
    "WIDER": ("bbx_gt.txt", lines("0--Parade/a.jpg", "1", "449 330 122 149 0 0 0 0 0 0")),
    "points in CSV": ("points.csv", lines("image_name,part_0_x,part_0_y,part_1_x,part_1_y",
                                          "a.jpg,32,65,33,76")),
    "a point in CSV": ("fovea.csv", lines("Image No,X- Coordinate,Y - Coordinate",
                                          "img_7,260.5,142.5")),
    "boxes in CSV": ("annotations.csv", lines("filename,width,height,class,xmin,ymin,xmax,ymax",
                                              "a.jpg,500,375,dog,100,120,470,350")),
    "boxes in CSV, without names": ("boxes.csv", "images/a.jpg,dog,100,120,470,350\n"),
    "LOC_solution": ("LOC_solution.csv", lines("ImageId,PredictionString",
                                               "img_7,n03995372 85 1 499 272 ")),
    "300W": ("a.pts", lines("version: 1", "n_points: 2", "{", "446.000 91.000", "449.45 119.6",
                            "}")),
    "points in lines": ("a.txt", lines("106", "46.000 91.000", "49.45 119.6", "63.1 130.9")),
    "keypoints": ("keypoints.json", dump({"a.jpg": {"nose": [250, 180], "tail": [100, 50]}})),
    "COCO": ("annotations/instances.json", dump({
        "images": [{"file_name": "a.jpg", "width": 500, "height": 375, "id": 1}],
        "annotations": [{"image_id": 1, "bbox": BOX, "area": 60000, "id": 7}]})),
    "COCO, results": ("results.json", dump([{"image_id": n, "bbox": BOX, "score": 0.9}
                                            for n in range(8)])),
    "CrowdHuman": ("a.odgt", dump({"ID": "a", "gtboxes": [{"tag": "person", "fbox": BOX}]})),
    "xBD": ("labels/a.json", dump({"features": {"xy": [
        {"wkt": "POLYGON ((89.6 94.4, 182.4 95.1, 180.2 220.6, 89.6 94.4))"}]}})),
    "TuSimple": ("label_data.json", dump({
        "lanes": [[-2, 232, 241, 258]], "h_samples": [240, 250, 260], "raw_file": "a.jpg"})),
    "CUB": ("bounding_boxes.txt", lines(*("%d 60.0 27.0 325.0 304.0" % n for n in range(1, 9)))),
    "YAML": ("labels.yaml", lines("- image: a.jpg", "  box:", "    xmin: 10", "    ymin: 20")),
    "UTF-16": ("boxes.txt", "\ufeffa.jpg\t10\t20\t300\t200\n"),
    "runs of pixels": ("train_ship.csv", lines("ImageId,EncodedPixels",
                                               "a.jpg,264661 17 264756 25 265429 33")),
    "Tiny ImageNet": ("val_annotations.txt", "a.jpg\tn03444034\t0\t32\t44\t62\n"),
    "GTSRB": ("GT-00000.csv", lines("Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId",
                                    "a.jpg;29;30;5;6;24;25;0")),
}

# They name images, or share their names, and still fit.
HARMLESS = {
    "YOLO": ("labels/a.txt", lines("45 0.479492 0.688771 0.955609 0.5955", "2 0.5 0.5 1 1")),
    "YOLO, pose": ("labels/a.txt", "0 0.5 0.5 0.3 0.4 0.4 0.4 2 0.45 0.4 2.0 0 0 0 0.3 0.6 1\n"),
    "OpenImages": ("boxes.csv", lines(
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded",
        "a,xclick,/m/0cmf2,1,0.018750,0.098438,0.195313,0.664063,0")),
    "Rekognition": ("a.json", dump({"BoundingBox": {"Left": 0.1, "Top": 0.2, "Width": 0.5}})),
    "labels and folds": ("folds.csv", lines("file,label,fold,split", "a.jpg,17,3,train",
                                            "0001.jpg,5,4,train")),
    "numbered labels": ("labels.csv", lines("id,label", *("%d,%d" % (n, n + 5)
                                                          for n in range(1, 20)))),
    "sizes": ("sizes.csv", lines("file,width,height", "a.jpg,500,375")),
    "attributes": ("list_attr.txt", lines("1", "bald male smiling young", "a.jpg -1 1 1 -1")),
    "pets": ("list.txt", lines("#Image CLASS-ID SPECIES BREED ID", "img_7 37 2 25")),
    "pairs": ("pairs.txt", lines("10 300", "a 1 4", "a 3 img_7 5")),
    "statistics": ("config.json", dump({"mean": [123.675, 116.28, 103.53], "size": [224, 224],
                                        "examples": ["a.jpg"]})),
    "embeddings": ("a.json", dump({"embedding": [0.1, -1.5, 0.25, 2.5, -0.75]})),
    "StyleGAN": ("dataset.json", dump({"labels": [["00000/a.jpg", 6], ["00000/img_7.jpg", 9]]})),
    "numbers of labels": ("labels.json", dump({"a.jpg": [3, 17], "img_7.jpg": [5, 9]})),
    "a caption": ("images/a.txt", "Toyota Yaris bumper 2011 2012 2013 2014, two dogs and 3 cats\n"),
    "Flickr": ("captions.txt", lines("a.jpg#0\tA child in a pink dress at x, y 3",
                                     "a.jpg#1\tA girl going into 1 2 of 3 wooden buildings .")),
    "metadata.jsonl with text": ("images/metadata.jsonl", dump(
        {"file_name": "a.jpg", "text": "1, 2, 3, 4 of the ten red balloons on a string",
         "width": 500})),
    "COCO, captions": ("captions.json", dump({
        "info": {"year": 2014, "date_created": "2015-01-27 09:11:52.357475"},
        "images": [{"license": 3, "file_name": "a.jpg", "height": 375, "width": 500, "id": 57870,
                    "coco_url": "http://images.cocodataset.org/train2014/a.jpg",
                    "date_captured": "2013-11-14 16:28:13"}],
        "annotations": [{"image_id": 570, "id": n, "caption": "Tables set for 2."}
                        for n in range(700, 709)]})),
    "img2dataset": ("a.json", dump({
        "caption": "a cat", "url": "https://x.org/a.jpg", "key": "00001", "status": "success",
        "width": 500, "height": 375, "original_width": 1000, "original_height": 750,
        "exif": json.dumps({"Image Make": "Canon", "Image XResolution": "72", "GPS Version":
                            "[2, 2, 0, 0]", "EXIF SubjectArea": "[2015, 1511, 2217, 1330]",
                            "EXIF DateTimeOriginal": "2011:05:13 10:00:00"})})),
    "WebDataset": ("0001.cls", "207"),
    "EXIF": ("a.json", dump([{
        "SourceFile": "a.jpg", "ImageWidth": 500, "ImageHeight": 375, "ISO": 100, "FNumber": 2.8,
        "ExposureTime": "1/60", "FocalLength": "50.0 mm", "XResolution": 72, "YResolution": 72,
        "PixelXDimension": 500, "PixelYDimension": 375, "GPSLatitude": "41 deg 53' 19.00\" N",
        "DateTimeOriginal": "2011:05:13 10:00:00"}], indent=1)),
    "EXIF as text": ("a.txt", lines("exif:DateTime: 2011:05:13 10:00:00", "exif:FNumber: 28/10",
                                    "exif:ImageWidth: 500", "exif:PixelXDimension: 500",
                                    "exif:PixelYDimension: 375")),
    "README": ("README.md", lines("# Images", "![](a.jpg) and ![](img_7.jpg) of 2014.",
                                  "| size | 224 |", "Version 1.2.3, 10 classes, 1000 images.")),
    "checksums": ("md5sums", lines("d41d8cd98f00b204e9800998ecf8427e  images/a.jpg")),
    "colours of classes": ("colours.txt", lines("road 128 64 128", "sky 70 130 180")),
    "iNaturalist": ("train.json", dump({
        "images": [{"id": 0, "width": 500, "height": 375, "file_name": "a.jpg", "license": 0,
                    "date": "2015-07-01 02:05:28+00:00", "latitude": 20.1, "longitude": -156.5}],
        "annotations": [{"id": 0, "category_id": 12, "image_id": 0}]})),
}
