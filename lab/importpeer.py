"""Import a register as `caucus agent source declare` does, by pandas and numpy: read, code, sort, write.

python3 importpeer.py FILE.csv|FILE.parquet OUT.npz prints rows a second and the peak of memory.
The files are those that `CAUCUS_ROWS=… CAUCUS_FOLDER=… go test ./agent/source -run TestSize -v` makes.
"""

import resource
import sys
import time

import numpy as np
import pandas as pd

start = time.time()
path, out = sys.argv[1:]
frame = pd.read_csv(path) if path.endswith(".csv") else pd.read_parquet(path)
coded = {}
for name in frame.columns:
    if name.startswith("n"):
        coded[name] = frame[name].to_numpy(np.float64)
    elif name.startswith("t"):
        coded[name] = pd.Categorical(frame[name], categories=list("abcdef")).codes
    elif name == "ill":
        coded[name] = pd.Categorical(frame[name], categories=["no", "yes"]).codes
    else:
        coded[name] = pd.util.hash_array(frame[name].to_numpy())
order = np.argsort(pd.util.hash_pandas_object(frame, index=False).to_numpy())
np.savez(out, **{name: column[order] for name, column in coded.items()})
rows, seconds = len(frame), time.time() - start
print(f"{path}: {rows} rows in {seconds:.1f} s ({rows / seconds:.0f} a second), "
      f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB at most")
