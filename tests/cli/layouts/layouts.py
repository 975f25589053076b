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

add("two classes", PETS, "", "cat 4, dog 4 (cls jpg)")
add("two classes with equal numbers", classes(("cat", "dog"), "{}/*.jpg"), "warns: have the names of files", "cat 4, dog 4 (cls jpg)")
add("two classes with equal numbers, as many as they have", photos("cat/*.jpg", range(9)) | photos("dog/*.jpg", range(7)), "", "cat 9, dog 7 (cls jpg)")
add("ten classes with equal numbers", classes("abcdefghij", "{}/*.jpg"), "", "a 4, b 4, c 4, d 4, e 4, f 4, g 4, h 4, i 4, j 4 (cls jpg)")
add("classes named by numbers, with equal names", classes(("class_0", "class_1"), "{}/img_*.jpg"), "", "class_0 4, class_1 4 (cls jpg)")
add("ImageNet", classes(("n01440764", "n01443537"), "{}/{}_*.JPEG", (10026, 10027, 2138, 5563)), "", "n01440764 4, n01443537 4 (cls jpg)")
add("ImageNet: train and val", classes(("train/n01440764", "train/n01443537"), "{}/{}_*.JPEG") |
    photos("val/n01440764/ILSVRC2012_val_*.JPEG", (293, 2138, 3014)) | photos("val/n01443537/ILSVRC2012_val_*.JPEG", (236, 262, 3073)),
    "", "train: n01440764 4, n01443537 4 (cls jpg); val: n01440764 3, n01443537 3 (cls jpg)")
add("Tiny ImageNet: train", {path.removeprefix("train/"): size for path, size in TINY.items()}, "", "n01443537 4, n01629819 4, n01641577 4 (cls jpg)")
add("Tiny ImageNet: val is one folder", TINY | photos("val/images/val_*.JPEG", range(4)) | {"val/val_annotations.txt": "a\tb\n"},
    "warns: 'src/val' left out: its only folder 'images' is named like the one in the classes of 'train'", "train: n01443537 4, n01629819 4, n01641577 4 (cls jpg)")
add("Tiny ImageNet: val and test", TINY | photos("val/images/val_*.JPEG", range(4)) | photos("test/images/test_*.JPEG", range(4)),
    "warns: 'src/test' left out", "train: n01443537 4, n01629819 4, n01641577 4 (cls jpg)")
add("miniImageNet: sets of different classes", classes(("train/n1", "train/n2", "val/n3", "test/n4")), "warns: lacks", "test: n4 4 (cls jpg); train: n1 4, n2 4 (cls jpg); val: n3 4 (cls jpg)")
add("a set that lacks a class", classes(("train/cat", "train/dog", "val/cat")), "warns: lacks 1 of the 2 class folders", "train: cat 4, dog 4 (cls jpg); val: cat 4 (cls jpg)")
add("test images without classes", classes(("train/cat", "train/dog")) | photos("test/*.jpg"), "warns: 'src/test' left out", "train: cat 4, dog 4 (cls jpg)")
add("folders within classes", classes(("cats/indoor", "cats/outdoor", "dogs/indoor", "dogs/outdoor"), "{}/*.jpg"),
    "warns: have 2 of these in common: indoor, outdoor", "cats 8, dogs 8 (cls jpg)")
add("folders within one class", classes(("cats/indoor", "cats/outdoor", "dogs/indoor")), "", "cats 8, dogs 4 (cls jpg)")
add("frames of clips", classes(("run/v1", "run/v2", "walk/v1", "walk/v3"), "{}/frame_*.jpg"), "", "run 8, walk 8 (cls jpg)")
add("Food-101", photos("apple_pie/*.jpg", (1005649, 101417, 1020312)) | photos("sushi/*.jpg", (1008104, 102845, 1043283)), "", "apple_pie 3, sushi 3 (cls jpg)")
add("Stanford Dogs", classes(("n02085620-Chihuahua", "n02085782-Japanese_spaniel"), "{}/{}_*.jpg"), "", "n02085620-Chihuahua 4, n02085782-Japanese_spaniel 4 (cls jpg)")
add("EuroSAT", classes(("AnnualCrop", "Forest", "River"), "{}/{}_*.jpg"), "", "AnnualCrop 4, Forest 4, River 4 (cls jpg)")
add("PlantVillage", photos("Apple___scab/*___FREC_Scab 3417.JPG") | photos("Corn___healthy/*___R.S_HL 0620.JPG", "pqrst"), "", "Apple___scab 5, Corn___healthy 5 (cls jpg)")
add("PlantVillage with copies", photos("scab/*___FREC.JPG") | photos("scab/*___FREC_flipLR.JPG") | photos("rust/R_*.JPG", range(6)),
    "warns: 5 of '*_flipLR.JPG'", "rust 6, scab 10 (cls jpg)")
add("retina: left and right eyes by grade", photos("0/*_left.jpeg", range(9)) | photos("0/*_right.jpeg", range(9)) |
    photos("1/*_left.jpeg", (12, 15)) | photos("1/*_right.jpeg", (15, 17)), "warns: names differ only in their ends", "0 18, 1 4 (cls jpg)")
add("with and without mask", photos("with_mask/*-with-mask.jpg", range(5)) | photos("without_mask/*.jpg", range(5)),
    "warns: have the names of files", "with_mask 5, without_mask 5 (cls jpg)")
add("real and fake, as pairs", photos("real/*.jpg") | photos("fake/*.jpg"), "warns: have the names of files", "fake 5, real 5 (cls jpg)")
add("CIFAKE", photos("REAL/* (2).jpg", numbers(5, 4)) | photos("FAKE/* (2).jpg", numbers(5, 4)), "warns: have the names of files", "FAKE 5, REAL 5 (cls jpg)")
add("FFHQ as PNG beside generated JPEGs", photos("real/*.png", numbers(5, 5), 9 * PHOTO) | photos("fake/*.jpg", numbers(5, 5)),
    "warns: have the names of files", "fake 5, real 5 (cls jpg? png?)")
add("blurred photos", photos("sharp/*_S.jpg") | photos("defocused/*_F.jpg") | photos("motion/*_M.jpg"), "warns: have the names of files", "defocused 5, motion 5, sharp 5 (cls jpg)")
add("MVTec: test", classes(("good", "crack", "cut"), "{}/*.png", numbers(4, 3, 0)), "warns: have the names of files", "crack 4, cut 4, good 4 (cls png)")
add("jpg and png in every class", PETS | classes(("cat", "dog"), "{}/{}_*.png", range(9, 12)), "", "cat 7, dog 7 (cls jpg? png?)")
add("a class of the name images", classes(("images", "cats")), "", "cats 4, images 4 (cls jpg)")
add("a class of the name mask", classes(("mask", "no_mask")), "", "mask 4, no_mask 4 (cls jpg)")
add("views of products", photos("chair/*.jpg", ("front", "back", "side")) | photos("table/*.jpg", ("front", "back", "side")) |
    photos("lamp/*.jpg", ("front", "back", "top")), "warns: have the names of files", "chair 3, lamp 3, table 3 (cls jpg)")
add("img2dataset without labels", {f"0000{n % 2}/0000{n % 2}000{n}.{end}": size for n in range(4)
                                   for end, size in (("jpg", PHOTO), ("txt", "text"), ("json", "{}"))}, "", "4 (jpg json txt)", "--unlabeled")
add("a flat folder", photos("*.jpg"), "", "5 (jpg)", "--unlabeled")
add("a flat folder of names with one start", photos("ISIC_*.jpg"), "", "5 (jpg)", "--unlabeled")
add("views of rooms", {f"{room}/view_{one}.jpg": PHOTO for room in ("hall", "attic") for one in ("left", "right", "up", "down")},
    "warns: have the names of files", "attic 4, hall 4 (cls jpg)")
add("one class", photos("cat/*.jpg"), "warns: all samples get one label", "cat 5 (cls jpg)")
add("hidden and system folders", PETS | {".cache/x.jpg": 100, "@eaDir/x.jpg": 100}, "", "cat 4, dog 4 (cls jpg)")

# Parts of samples in folders side by side.

add("mmsegmentation", photos("img_dir/*.jpg") | masks("ann_dir/*.png"),
    "5 of 5 files (.png) in 'ann_dir' have the names of files (.jpg) in 'img_dir': these are parts of samples", "5 (ann-dir.png jpg)")
add("mmsegmentation with sets", photos("img_dir/train/*.jpg") | photos("img_dir/val/*.jpg", "xyz") | masks("ann_dir/train/*.png") |
    masks("ann_dir/val/*.png", "xyz"), "8 of 8 files (.png) in 'ann_dir'", "train: 5 (ann-dir.png jpg); val: 3 (ann-dir.png jpg)")
add("mmsegmentation with numbers", photos("img_dir/*.jpg", numbers(5, 4)) | masks("ann_dir/*.png", numbers(5, 4)),
    "5 of 5 files (.png) in 'ann_dir'", "5 (ann-dir.png jpg)")
add("LoveDA", photos("images_png/*.png", numbers(5)) | masks("masks_png/*.png", numbers(5)), "5 of 5 files (.png) in 'masks_png'", "5 (masks-png.png png)")
add("LoveDA: urban and rural", {path: size for place in ("Urban", "Rural") for path, size in
                                (photos(f"{place}/images_png/*.png") | masks(f"{place}/masks_png/*.png")).items()},
    "10 of 10 files (.png) in 'masks_png' of 2 folders", "Rural 5, Urban 5 (cls masks-png.png png)")
add("TGS salt", photos("images/*.png") | masks("masks/*.png"), "5 of 5 files (.png) in 'masks'", "5 (mask.png png)")
add("Kvasir: images and masks are JPEG", photos("images/*.jpg") | masks("masks/*.jpg"), "5 of 5 files (.jpg) in 'masks'", "5 (jpg mask.jpg)")
add("masks with a suffix", photos("images/*.jpg") | masks("masks/*_mask.png"), "5 of 5 files (.png) in 'masks'", "5 (jpg mask.png)")
add("masks of some images", photos("images/*.jpg") | masks("masks/*.png", IDS[:3]), "3 of 3 files (.png) in 'masks'", "5 (jpg mask.png?)")
add("Cityscapes", photos("leftImg8bit/ulm/*_leftImg8bit.png") | masks("gtFine/ulm/*_gtFine_labelIds.png") |
    masks("gtFine/ulm/*_gtFine_color.png") | {f"gtFine/ulm/{one}_gtFine_polygons.json": "{}" for one in IDS},
    "10 of 10 files (.png) in 'gtFine'", "5 (gtfine.png json labelid.png png)")
add("depth beside color", photos("rgb/*_rgb.png") | masks("depth/*_depth.png"), "5 of 5 files (.png) in 'depth'", "5 (depth.png png)")
add("prefixes", photos("frames/frame_*.jpg", range(1, 60, 9)) | masks("truth/truth_*.png", range(1, 60, 9)), "7 of 7 files (.png) in 'truth'", "")
add("change detection", photos("A/*.png") | photos("B/*.png") | masks("label/*.png"), "5 of 5 files (.png) in 'label'", "5 (b.png label.png png)")
add("pairs without a mask", photos("A/*.png") | photos("B/*.png"), "warns: have the names of files", "A 5, B 5 (cls png)")
add("sets with images and masks", {path: size for name in ("train", "val") for path, size in
                                   (photos(f"{name}/images/*.jpg") | masks(f"{name}/masks/*.png")).items()},
    "5 of 5 files (.png) in 'masks'", "train: 5 (jpg mask.png)")
add("classes with images and masks", {path: size for name in ("cat", "dog", "owl") for path, size in
                                      (photos(f"{name}/images/{name}*.jpg") | masks(f"{name}/masks/{name}*.png")).items()},
    "15 of 15 files (.png) in 'masks' of 3 folders", "cat 5, dog 5, owl 5 (cls jpg mask.png)")
add("nuclei: a folder for each image", {path: size for one in IDS for path, size in
                                        ({f"{one}/images/{one}.png": PHOTO} | masks(f"{one}/masks/*.png", "pqr")).items()},
    "'images' has one file, named like the folder around it, beside 'masks'", "5 (mask.0.png mask.1.png mask.2.png png)", "--unlabeled")

# Folders without images beside folders with images.

add("Supervisely", photos("img/*.jpg") | {f"ann/{one}.jpg.json": "{}" for one in IDS},
    "'src/ann' is not a class: it has no images, but 5 .json, 5 of which are named like images in 'img'", "5 (jpg json)")
add("boxes of YOLO", photos("images/*.jpg") | {f"labels/{one}.txt": "0 1 1 1 1" for one in IDS},
    "'src/labels' is not a class: it has no images, but 5 .txt", "5 (jpg txt)")
add("boxes of YOLO with sets", photos("images/train/*.jpg") | photos("images/val/*.jpg", "xyz") |
    {f"labels/{where}.txt": "0" for where in ("train/3f9a", "train/7bc1", "val/x")}, "'src/labels' is not a class", "train: 5 (jpg txt?); val: 3 (jpg txt?)")
add("boxes of YOLO with a list of classes", photos("images/*.jpg") | {f"labels/{one}.txt": "0" for one in (*IDS, "classes")},
    "leaves out 1 file of 'labels' (6 .txt)", "5 (jpg txt)")
add("Roboflow", {path: size for name in ("train", "valid") for path, size in
                 (photos(f"{name}/images/*.jpg") | {f"{name}/labels/{one}.txt": "0" for one in IDS}).items()},
    "'src/train/labels' is not a class", "train: 5 (jpg txt)")
add("KITTI", photos("image_2/*.png") | photos("image_3/*.png") | {f"label_2/{one}.txt": "Car" for one in IDS} |
    {f"calib/{one}.txt": "P0" for one in IDS}, "is not a class: it has no images, but 5 .txt", "5 (image-3.png label-2.txt png txt)")
add("VOC", photos("JPEGImages/2007_*.jpg") | {f"Annotations/2007_{one}.xml": "<a/>" for one in IDS} |
    masks("SegmentationClass/2007_*.png", IDS[:2]) | {"ImageSets/Main/train.txt": "2007_3f9a\n"},
    "leaves out 1 file of 'ImageSets' (1 .txt)", "5 (jpg segmentation.png? xml)")
add("COCO in a folder", photos("images/*.jpg", "ab") | {"annotations/instances.json":
    '{"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"}],"annotations":[],"categories":[]}'},
    "'src/annotations' is not a class: it has no images, but 1 .json", "2 (jpg json)")
add("a folder of notes", PETS | {"notes/about.md": "text"}, "'src/notes' is not a class: it has no images, but 1 .md", "")
add("arrays of depth", photos("rgb/*.jpg") | {f"depth/{one}.npy": 100 for one in IDS}, "5 .npy, 5 of which are named like", "5 (jpg npy)")

# Parts of samples in one folder.

add("ISIC: masks beside images", photos("data/ISIC_*.jpg") | masks("data/ISIC_*_segmentation.png"), "of '*_segmentation.png'", "data 5 (cls jpg segmentation.png)")
add("BUSI", photos("benign/benign (*).png", range(5)) | masks("benign/benign (*)_mask.png", range(5)) |
    photos("normal/normal (*).png", range(3)) | masks("normal/normal (*)_mask.png", range(3)), "of '*_mask.png'", "benign 5, normal 3 (cls mask.png png)")
add("several masks of an image", photos("a/*.png") | masks("a/*_mask_1.png") | masks("a/*_mask_2.png"), "of '*_mask*.png'", "a 5 (cls mask.0.png mask.1.png png)")
add("DeepGlobe", photos("train/*_sat.jpg") | masks("train/*_mask.png"), "5 of '*_sat.jpg', 5 of '*_mask.png'", "5 (jpg mask.png)", "--unlabeled")
add("BraTS slices", {path: PHOTO for one in IDS for path in (f"BraTS_{one}/BraTS_{one}_{end}.png" for end in ("flair", "t1", "t2", "seg"))},
    "names differ only in their ends", "5 (png seg.png t1.png t2.png)", "--unlabeled")
add("BraTS slices as classes", {path: PHOTO for one in IDS for path in (f"BraTS_{one}/BraTS_{one}_{end}.png" for end in ("flair", "t1", "t2"))},
    "names differ only in their ends", "BraTS_3f9a 1, BraTS_7bc1 1, BraTS_a04e 1, BraTS_c5d2 1, BraTS_e817 1 (cls png t1.png t2.png)")
add("a few files with a suffix", photos("a/*.jpg", range(20)) | masks("a/*_mask.png", range(2)), "warns: all samples get one label", "a 22 (cls jpg? png?)")

# Sets and folds around classes.

add("folds", classes(("fold_0/all", "fold_0/hem", "fold_1/all", "fold_1/hem")), "contain no images but folders, and have 2 of these in common", "")
add("five folds", classes([f"fold{fold}/{name}" for fold in range(1, 6) for name in ("a", "b", "c")]), "have 3 of these in common", "")
add("Intel scenes", classes(("seg_train/forest", "seg_train/sea", "seg_test/forest", "seg_test/sea")), "contains the sets seg_test and seg_train", "")
add("Intel scenes as unpacked", classes(("seg_train/seg_train/forest", "seg_train/seg_train/sea", "seg_test/seg_test/forest",
                                         "seg_test/seg_test/sea")), "contains the sets seg_test and seg_train", "")
add("CycleGAN", classes(("trainA", "trainB", "testA", "testB"), "{}/*.jpg"), "the sets testA and testB and trainA and trainB", "4 (jpg)")
add("a folder around the sets", classes(("chest/train/sick", "chest/train/well", "chest/test/sick", "chest/test/well")),
    "'src/chest' is not a class: it contains the sets test and train", "test: sick 4, well 4 (cls jpg); train: sick 4, well 4 (cls jpg)")
add("two folders around the sets", under("chest/chest", classes(("train/sick", "train/well", "val/sick", "val/well"))),
    "'src/chest/chest' is not a class", "train: sick 4, well 4 (cls jpg); val: sick 4, well 4 (cls jpg)")
add("images/train and images/val", classes(("images/train", "images/val"), "{}/*.jpg"), "'src/images' is not a class", "train: 4 (jpg); val: 4 (jpg)")
add("sets with capitals", classes(("Train/cat", "Train/dog", "Test/cat", "Test/dog")), "contains the sets Test and Train", "")
add("COCO", photos("train2017/*.jpg", "ab") | photos("val2017/*.jpg", "c") | {f"annotations/instances_{name}2017.json":
    '{"images":[%s],"annotations":[],"categories":[]}' % ",".join(f'{{"id":{i},"file_name":"{c}.jpg"}}' for i, c in enumerate(text))
    for name, text in (("train", "ab"), ("val", "c"))}, "contains the sets train2017 and val2017", "train2017: 2 (jpg json)")
add("Roboflow's COCO", photos("train/*.jpg", "ab") | photos("valid/*.jpg", "c") | {f"{name}/_annotations.coco.json":
    '{"images":[%s],"annotations":[],"categories":[]}' % ",".join(f'{{"id":{i},"file_name":"{c}.jpg"}}' for i, c in enumerate(text))
    for name, text in (("train", "ab"), ("valid", "c"))}, "contains the sets train and valid", "train: 2 (jpg json)")
add("train beside other folders", classes(("train/cat", "train/dog", "extra")), "contains the set train, and also 'extra'", "cat 4, dog 4 (cls jpg)")
add("a station", classes(("train_station", "bus_station")), "", "bus_station 4, train_station 4 (cls jpg)")
