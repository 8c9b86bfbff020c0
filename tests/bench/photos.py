"""What programs of several Pythons do with photos: read them, and what training on ImageNet does
with one."""

import http.client
import pickle
import urllib.parse

BATCH = 64
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def transform(pixels=224):
    """What is done with an open image."""
    from torchvision import transforms
    return transforms.Compose([transforms.RandomResizedCrop(pixels),
                               transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                               transforms.Normalize(MEAN, DEVIATION)])


class Gets:
    """A Dataset as people write it, which GETs a file at a time, each worker over one connection
    that it keeps."""

    def __init__(self, names, url, work=len):
        self.names, self.url, self.work = names, urllib.parse.urlsplit(url), work
        self.connection = None

    def __len__(self):
        return len(self.names)

    def __getitem__(self, number):
        self.connection = self.connection or http.client.HTTPConnection(self.url.netloc)
        name = urllib.parse.quote(self.names[number])
        self.connection.request("GET", f"{self.url.path}/{name}")
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise OSError(f"{name}: {answer.status}")
        return self.work(data), number


class Folder2lmdb:
    """The Dataset of Efficient-PyTorch and pytorch_lmdb_imagenet, opened in each worker."""

    def __init__(self, path, work=len):
        self.path, self.work, self.env = path, work, None
        with self.open() as env, env.begin() as txn:
            self.keys = pickle.loads(txn.get(b"__keys__"))

    def open(self):
        import lmdb
        return lmdb.open(self.path, subdir=False, readonly=True, lock=False, readahead=False,
                         meminit=False)

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, number):
        self.env = self.env or self.open()
        with self.env.begin() as txn:
            image, label = pickle.loads(txn.get(self.keys[number]))
        return self.work(image), label
