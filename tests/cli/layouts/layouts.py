"""Trees as people have them, from public descriptions of data sets: a row is a name, files, options, and what `convert` makes of it.

`says` is "" for a tree that is converted without a word about its structure, the start of a warning behind "warns:", or a part of
the refusal. `written` is each set with its classes or samples and their fields; of a refusal, what its first command writes.
"""

from typing import NamedTuple

PHOTO, MASK = 40_000, 700  # bytes of a photo, and of a mask of its size
IDS = ("3f9a", "7bc1", "a04e", "c5d2", "e817")  # names that no numbering gives


class Layout(NamedTuple):
    name: str
    files: dict
    says: str
    written: str
    options: tuple = ()


def photos(pattern, names=IDS, size=PHOTO):
    """{path: bytes} for each name at '*'."""
    return {pattern.replace("*", str(name)): size for name in names}


def masks(pattern, names=IDS):
    return photos(pattern, names, MASK)


def numbers(count, width=0, first=1):
    return [f"{number:0{width}}" for number in range(first, first + count)]


def classes(names, pattern="{}/{}_*.jpg", files=range(1, 5)):
    """Each class with files of its own."""
    found = {}
    for name in names:
        found |= photos(pattern.replace("{}", name, 1).replace("{}", name.rpartition("/")[2]), files)
    return found


def under(folder, files):
    return {f"{folder}/{path}": size for path, size in files.items()}


PETS = classes(("cat", "dog"))
TINY = {path: size for name in ("n01443537", "n01629819", "n01641577")
        for path, size in photos(f"train/{name}/images/{name}_*.JPEG", range(4)).items()}

LAYOUTS = []


def add(name, files, says, written, *options):
    LAYOUTS.append(Layout(name, files, says, written, options))


# Plain ImageFolders, which stay as they are.

add("two classes", PETS, "", "")
add("two classes with equal numbers", classes(("cat", "dog"), "{}/*.jpg"), "warns: have the names of files", "")
add("two classes with equal numbers, as many as they have", photos("cat/*.jpg", range(9)) | photos("dog/*.jpg", range(7)), "", "")
add("ten classes with equal numbers", classes("abcdefghij", "{}/*.jpg"), "", "")
add("classes named by numbers, with equal names", classes(("class_0", "class_1"), "{}/img_*.jpg"), "", "")
add("ImageNet", classes(("n01440764", "n01443537"), "{}/{}_*.JPEG", (10026, 10027, 2138, 5563)), "", "")
add("ImageNet: train and val", classes(("train/n01440764", "train/n01443537"), "{}/{}_*.JPEG") |
    photos("val/n01440764/ILSVRC2012_val_*.JPEG", (293, 2138, 3014)) | photos("val/n01443537/ILSVRC2012_val_*.JPEG", (236, 262, 3073)),
    "", "")
add("Tiny ImageNet: train", {path.removeprefix("train/"): size for path, size in TINY.items()}, "", "")
add("Tiny ImageNet: val is one folder", TINY | photos("val/images/val_*.JPEG", range(4)) | {"val/val_annotations.txt": "a\tb\n"},
    "warns: 'src/val' left out: its only folder 'images' is named like the one in the classes of 'train'", "")
add("Tiny ImageNet: val and test", TINY | photos("val/images/val_*.JPEG", range(4)) | photos("test/images/test_*.JPEG", range(4)),
    "warns: 'src/test' left out", "")
add("miniImageNet: sets of different classes", classes(("train/n1", "train/n2", "val/n3", "test/n4")), "warns: lacks", "")
add("a set that lacks a class", classes(("train/cat", "train/dog", "val/cat")), "warns: lacks 1 of the 2 class folders", "")
add("test images without classes", classes(("train/cat", "train/dog")) | photos("test/*.jpg"), "warns: 'src/test' left out", "")
add("folders within classes", classes(("cats/indoor", "cats/outdoor", "dogs/indoor", "dogs/outdoor"), "{}/*.jpg"),
    "warns: have 2 of these in common: indoor and outdoor", "")
add("folders within one class", classes(("cats/indoor", "cats/outdoor", "dogs/indoor")), "", "")
add("frames of clips", classes(("run/v1", "run/v2", "walk/v1", "walk/v3"), "{}/frame_*.jpg"), "", "")
add("Food-101", photos("apple_pie/*.jpg", (1005649, 101417, 1020312)) | photos("sushi/*.jpg", (1008104, 102845, 1043283)), "", "")
add("Stanford Dogs", classes(("n02085620-Chihuahua", "n02085782-Japanese_spaniel"), "{}/{}_*.jpg"), "", "")
add("EuroSAT", classes(("AnnualCrop", "Forest", "River"), "{}/{}_*.jpg"), "", "")
add("PlantVillage", photos("Apple___scab/*___FREC_Scab 3417.JPG") | photos("Corn___healthy/*___R.S_HL 0620.JPG", "pqrst"), "", "")
add("PlantVillage with copies", photos("scab/*___FREC.JPG") | photos("scab/*___FREC_flipLR.JPG") | photos("rust/R_*.JPG", range(6)),
    "warns: 5 of '*_flipLR.JPG'", "")
add("retina: left and right eyes by grade", photos("0/*_left.jpeg", range(9)) | photos("0/*_right.jpeg", range(9)) |
    photos("1/*_left.jpeg", (12, 15)) | photos("1/*_right.jpeg", (15, 17)), "warns: names differ only in their ends", "")
add("with and without mask", photos("with_mask/*-with-mask.jpg", range(5)) | photos("without_mask/*.jpg", range(5)),
    "warns: have the names of files", "")
add("real and fake, as pairs", photos("real/*.jpg") | photos("fake/*.jpg"), "warns: have the names of files", "")
add("CIFAKE", photos("REAL/* (2).jpg", numbers(5, 4)) | photos("FAKE/* (2).jpg", numbers(5, 4)), "warns: have the names of files", "")
add("FFHQ as PNG beside generated JPEGs", photos("real/*.png", numbers(5, 5), 9 * PHOTO) | photos("fake/*.jpg", numbers(5, 5)),
    "warns: have the names of files", "")
add("blurred photos", photos("sharp/*_S.jpg") | photos("defocused/*_F.jpg") | photos("motion/*_M.jpg"), "warns: have the names of files", "")
add("MVTec: test", classes(("good", "crack", "cut"), "{}/*.png", numbers(4, 3, 0)), "warns: have the names of files", "")
add("jpg and png in every class", PETS | classes(("cat", "dog"), "{}/{}_*.png", range(9, 12)), "", "")
add("a class of the name images", classes(("images", "cats")), "", "")
add("a class of the name mask", classes(("mask", "no_mask")), "", "")
add("views of products", photos("chair/*.jpg", ("front", "back", "side")) | photos("table/*.jpg", ("front", "back", "side")) |
    photos("lamp/*.jpg", ("front", "back", "top")), "warns: have the names of files", "")
add("img2dataset without labels", {f"0000{n % 2}/0000{n % 2}000{n}.{end}": size for n in range(4)
                                   for end, size in (("jpg", PHOTO), ("txt", "text"), ("json", "{}"))}, "", "", "--unlabeled")
add("a flat folder", photos("*.jpg"), "", "", "--unlabeled")
add("one class", photos("cat/*.jpg"), "warns: all samples get one label", "")
add("hidden and system folders", PETS | {".cache/x.jpg": 100, "@eaDir/x.jpg": 100}, "", "")

# Parts of samples in folders side by side.

add("mmsegmentation", photos("img_dir/*.jpg") | masks("ann_dir/*.png"),
    "5 of 5 files (.png) in 'ann_dir' have the names of files (.jpg) in 'img_dir': these are parts of samples", "")
add("mmsegmentation with sets", photos("img_dir/train/*.jpg") | photos("img_dir/val/*.jpg", "xyz") | masks("ann_dir/train/*.png") |
    masks("ann_dir/val/*.png", "xyz"), "8 of 8 files (.png) in 'ann_dir'", "")
add("mmsegmentation with numbers", photos("img_dir/*.jpg", numbers(5, 4)) | masks("ann_dir/*.png", numbers(5, 4)),
    "5 of 5 files (.png) in 'ann_dir'", "")
add("LoveDA", photos("images_png/*.png", numbers(5)) | masks("masks_png/*.png", numbers(5)), "5 of 5 files (.png) in 'masks_png'", "")
add("LoveDA: urban and rural", {path: size for place in ("Urban", "Rural") for path, size in
                                (photos(f"{place}/images_png/*.png") | masks(f"{place}/masks_png/*.png")).items()},
    "10 of 10 files (.png) in 'masks_png' of 2 folders", "")
add("TGS salt", photos("images/*.png") | masks("masks/*.png"), "5 of 5 files (.png) in 'masks'", "")
add("Kvasir: images and masks are JPEG", photos("images/*.jpg") | masks("masks/*.jpg"), "5 of 5 files (.jpg) in 'masks'", "")
add("masks with a suffix", photos("images/*.jpg") | masks("masks/*_mask.png"), "5 of 5 files (.png) in 'masks'", "")
add("masks of some images", photos("images/*.jpg") | masks("masks/*.png", IDS[:3]), "3 of 3 files (.png) in 'masks'", "")
add("Cityscapes", photos("leftImg8bit/ulm/*_leftImg8bit.png") | masks("gtFine/ulm/*_gtFine_labelIds.png") |
    masks("gtFine/ulm/*_gtFine_color.png") | {f"gtFine/ulm/{one}_gtFine_polygons.json": "{}" for one in IDS},
    "10 of 10 files (.png) in 'gtFine'", "")
add("depth beside color", photos("rgb/*_rgb.png") | masks("depth/*_depth.png"), "5 of 5 files (.png) in 'depth'", "")
add("prefixes", photos("frames/frame_*.jpg", range(1, 60, 9)) | masks("truth/truth_*.png", range(1, 60, 9)), "7 of 7 files (.png) in 'truth'", "")
add("change detection", photos("A/*.png") | photos("B/*.png") | masks("label/*.png"), "5 of 5 files (.png) in 'label'", "")
add("pairs without a mask", photos("A/*.png") | photos("B/*.png"), "warns: have the names of files", "")
add("sets with images and masks", {path: size for name in ("train", "val") for path, size in
                                   (photos(f"{name}/images/*.jpg") | masks(f"{name}/masks/*.png")).items()},
    "5 of 5 files (.png) in 'masks'", "")
add("classes with images and masks", {path: size for name in ("cat", "dog", "owl") for path, size in
                                      (photos(f"{name}/images/{name}*.jpg") | masks(f"{name}/masks/{name}*.png")).items()},
    "15 of 15 files (.png) in 'masks' of 3 folders", "")
add("nuclei: a folder for each image", {path: size for one in IDS for path, size in
                                        ({f"{one}/images/{one}.png": PHOTO} | masks(f"{one}/masks/*.png", "pqr")).items()},
    "'images' has one file, named like the folder around it, beside 'masks'", "", "--unlabeled")

# Folders without images beside folders with images.

add("Supervisely", photos("img/*.jpg") | {f"ann/{one}.jpg.json": "{}" for one in IDS},
    "'src/ann' is not a class: it has no images, but 5 .json, 5 of which are named like images in 'img'", "")
add("boxes of YOLO", photos("images/*.jpg") | {f"labels/{one}.txt": "0 1 1 1 1" for one in IDS},
    "'src/labels' is not a class: it has no images, but 5 .txt", "")
add("boxes of YOLO with sets", photos("images/train/*.jpg") | photos("images/val/*.jpg", "xyz") |
    {f"labels/{where}.txt": "0" for where in ("train/3f9a", "train/7bc1", "val/x")}, "'src/labels' is not a class", "")
add("boxes of YOLO with a list of classes", photos("images/*.jpg") | {f"labels/{one}.txt": "0" for one in (*IDS, "classes")},
    "leaves out 1 file of 'labels' (6 .txt)", "")
add("Roboflow", {path: size for name in ("train", "valid") for path, size in
                 (photos(f"{name}/images/*.jpg") | {f"{name}/labels/{one}.txt": "0" for one in IDS}).items()},
    "'src/train/labels' is not a class", "")
add("KITTI", photos("image_2/*.png") | photos("image_3/*.png") | {f"label_2/{one}.txt": "Car" for one in IDS} |
    {f"calib/{one}.txt": "P0" for one in IDS}, "is not a class: it has no images, but 5 .txt", "")
add("VOC", photos("JPEGImages/2007_*.jpg") | {f"Annotations/2007_{one}.xml": "<a/>" for one in IDS} |
    masks("SegmentationClass/2007_*.png", IDS[:2]) | {"ImageSets/Main/train.txt": "2007_3f9a\n"},
    "leaves out 1 file of 'ImageSets' (1 .txt)", "")
add("COCO in a folder", photos("images/*.jpg", "ab") | {"annotations/instances.json":
    '{"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"}],"annotations":[],"categories":[]}'},
    "'src/annotations' is not a class: it has no images, but 1 .json", "")
add("a folder of notes", PETS | {"notes/about.md": "text"}, "'src/notes' is not a class: it has no images, but 1 .md", "")
add("arrays of depth", photos("rgb/*.jpg") | {f"depth/{one}.npy": 100 for one in IDS}, "5 .npy, 5 of which are named like", "")

# Parts of samples in one folder.

add("ISIC: masks beside images", photos("data/ISIC_*.jpg") | masks("data/ISIC_*_segmentation.png"), "of '*_segmentation.png'", "")
add("BUSI", photos("benign/benign (*).png", range(5)) | masks("benign/benign (*)_mask.png", range(5)) |
    photos("normal/normal (*).png", range(3)) | masks("normal/normal (*)_mask.png", range(3)), "of '*_mask.png'", "")
add("several masks of an image", photos("a/*.png") | masks("a/*_mask_1.png") | masks("a/*_mask_2.png"), "of '*_mask*.png'", "")
add("DeepGlobe", photos("train/*_sat.jpg") | masks("train/*_mask.png"), "5 of '*_sat.jpg', 5 of '*_mask.png'", "", "--unlabeled")
add("BraTS slices", {path: PHOTO for one in IDS for path in (f"BraTS_{one}/BraTS_{one}_{end}.png" for end in ("flair", "t1", "t2", "seg"))},
    "names differ only in their ends", "", "--unlabeled")
add("BraTS slices as classes", {path: PHOTO for one in IDS for path in (f"BraTS_{one}/BraTS_{one}_{end}.png" for end in ("flair", "t1", "t2"))},
    "names differ only in their ends", "")
add("a few files with a suffix", photos("a/*.jpg", range(20)) | masks("a/*_mask.png", range(2)), "warns: all samples get one label", "")

# Sets and folds around classes.

add("folds", classes(("fold_0/all", "fold_0/hem", "fold_1/all", "fold_1/hem")), "contain no images but folders, and have 2 of these in common", "")
add("five folds", classes([f"fold{fold}/{name}" for fold in range(1, 6) for name in ("a", "b", "c")]), "have 3 of these in common", "")
add("Intel scenes", classes(("seg_train/forest", "seg_train/sea", "seg_test/forest", "seg_test/sea")), "contains the sets seg_test and seg_train", "")
add("Intel scenes as unpacked", classes(("seg_train/seg_train/forest", "seg_train/seg_train/sea", "seg_test/seg_test/forest",
                                         "seg_test/seg_test/sea")), "contains the sets seg_test and seg_train", "")
add("CycleGAN", classes(("trainA", "trainB", "testA", "testB"), "{}/*.jpg"), "the sets testA and testB and trainA and trainB", "")
add("a folder around the sets", classes(("chest/train/sick", "chest/train/well", "chest/test/sick", "chest/test/well")),
    "'src/chest' is not a class: it contains the sets test and train", "")
add("two folders around the sets", under("chest/chest", classes(("train/sick", "train/well", "val/sick", "val/well"))),
    "'src/chest/chest' is not a class", "")
add("images/train and images/val", classes(("images/train", "images/val"), "{}/*.jpg"), "'src/images' is not a class", "")
add("sets with capitals", classes(("Train/cat", "Train/dog", "Test/cat", "Test/dog")), "contains the sets Test and Train", "")
add("COCO", photos("train2017/*.jpg", "ab") | photos("val2017/*.jpg", "c") | {f"annotations/instances_{name}2017.json":
    '{"images":[%s],"annotations":[],"categories":[]}' % ",".join(f'{{"id":{i},"file_name":"{c}.jpg"}}' for i, c in enumerate(text))
    for name, text in (("train", "ab"), ("val", "c"))}, "contains the sets train2017 and val2017", "")
add("Roboflow's COCO", photos("train/*.jpg", "ab") | photos("valid/*.jpg", "c") | {f"{name}/_annotations.coco.json":
    '{"images":[%s],"annotations":[],"categories":[]}' % ",".join(f'{{"id":{i},"file_name":"{c}.jpg"}}' for i, c in enumerate(text))
    for name, text in (("train", "ab"), ("valid", "c"))}, "contains the sets train and valid", "")
add("train beside other folders", classes(("train/cat", "train/dog", "extra")), "contains the set train, and also 'extra'", "")
add("a station", classes(("train_station", "bus_station")), "", "")
