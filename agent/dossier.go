package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// Files of a dossier. Each is a fact; a file that is there is complete.
const (
	filePlan     = "plan.json"     // canonical bytes
	filePlanSign = "plan.sig"      // the coordinator's signature on them
	fileApproval = "approval-"     // a person said yes; the name follows
	fileRefused  = "refused"       // a person said no
	fileDeclined = "declined"      // the coordinator knows that this party takes no part
	fileUnread   = "unread"        // empty records were used, and why
	fileOdd      = "odd"           // in what the source's file was not as expected when it was read
	fileNoVotes  = "no-votes"      // why the site's own program gave none, or no scores
	fileLedger   = "ledger.seq"    // the ledger's head when the upload was made
	fileRecords  = "records"       // how many were declared when the ledger was charged
	fileHelper   = "helper.json"   // the helper's acceptance, as the coordinator passed it on
	fileForecast = "forecast.json" // what the operator says that the study is worth, signed
	fileDue      = "due.json"      // when it was or is to be prepared, fixed before the records were read
	fileLate     = "late"          // what was not ready then
	fileUpload   = "upload"        // the body; only these bytes are ever sent
	fileReceipt  = "receipt.json"  // the coordinator has it
	fileClosed   = "closed"        // how the study ended for this site, if not in a release
	fileRelease  = "release.json"
	// fileAmendments are those of the plan, signed; fileEnded is how many there were when
	// the study was over here because it was over.
	fileAmendments = "amendments.json"
	fileEnded      = "ended"
	// fileNotice is the newest notice that was carried here, and fileAnswer the answer that
	// is carried away, as it was first written: see protocol.Courier.
	fileNotice = "notice.json"
	fileAnswer = "answer.json"
)

// early says whether an upload is there before its moment, as after a restart. A
// clock that is put back delays nothing.
func (d dossier) early(now time.Time) bool {
	var fixed due
	b, err := d.read(fileDue)
	return err == nil && json.Unmarshal(b, &fixed) == nil && now.After(fixed.From) && now.Before(fixed.Leaves)
}

// declared is how many records were declared when the ledger was charged for the
// study; 0 before that. A crash may lie between, and another declaration: what is
// prepared then is what was charged.
func (d dossier) declared() int {
	b, err := d.read(fileRecords)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// dossier is what this site keeps about one study: a folder named by the
// plan's hash.
type dossier struct{ dir string }

// dossiers is the folder of all of them.
type dossiers struct{ dir string }

func (d dossiers) of(h study.Hash) dossier { return dossier{filepath.Join(d.dir, h.String())} }

// all lists the hashes that have a plan.
func (d dossiers) all() ([]study.Hash, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []study.Hash
	for _, e := range entries {
		var h study.Hash
		if h.UnmarshalText([]byte(e.Name())) == nil && d.of(h).has(filePlan) {
			out = append(out, h)
		}
	}
	return out, nil
}

// folders lists the dossiers, whatever they hold.
func (d dossiers) folders() ([]dossier, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	var out []dossier
	for _, e := range entries {
		var h study.Hash
		if e.IsDir() && h.UnmarshalText([]byte(e.Name())) == nil {
			out = append(out, d.of(h))
		}
	}
	return out, nil
}

// ledgerEntry is how far the ledger must be, 0 where no upload was made;
// charged says whether there must be a ledger at all.
func (d dossiers) ledgerEntry() (last int64, charged bool, err error) {
	heads, charged, err := d.heads()
	for _, h := range heads {
		last = max(last, h.Sequence)
	}
	return last, charged, err
}

// heads are how far the ledger was when each upload was made. Without a hash
// where an older version of this program wrote the file.
func (d dossiers) heads() (heads []privacy.Head, charged bool, err error) {
	all, err := d.folders()
	if err != nil {
		return nil, false, err
	}
	return headsOf(all)
}

func headsOf(all []dossier) (heads []privacy.Head, charged bool, err error) {
	for _, f := range all {
		charged = charged || f.has(fileUpload) || f.has(fileReceipt) || f.has(fileLedger)
		b, err := f.read(fileLedger)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		h, err := privacy.ParseHead(string(b))
		if n, plain := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); plain == nil {
			h, err = privacy.Head{Sequence: n}, nil
		}
		if err != nil || h.Sequence < 0 {
			return nil, false, fmt.Errorf("read %s: it does not hold the number of a ledger entry: restore it from a backup", filepath.Join(f.dir, fileLedger))
		}
		heads = append(heads, h)
	}
	return heads, charged, nil
}

// tidy removes what writes left unfinished when the process was killed. Only
// the holder of the state folder's lock may call it: no other process writes
// these files.
func (d dossiers) tidy() error {
	all, err := d.folders()
	if err != nil {
		return err
	}
	for _, f := range all {
		for _, name := range []string{filePlan, filePlanSign, fileDeclined, fileUnread, fileOdd, fileNoVotes, fileLedger, fileRecords, fileHelper, fileForecast, fileDue, fileLate, fileUpload, fileReceipt, fileClosed, fileRelease, fileAmendments, fileEnded, fileNotice, fileAnswer} {
			stale, err := filepath.Glob(filepath.Join(f.dir, "."+name+"-*"))
			if err != nil {
				return err
			}
			for _, path := range stale {
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

// find names a study by its plan's name, its hash, or the start of it.
func (d dossiers) find(name string) (study.Hash, error) {
	all, err := d.all()
	if err != nil {
		return study.Hash{}, err
	}
	var found []study.Hash
	for _, h := range all {
		p, err := d.of(h).plan()
		if err == nil && (p.Name == name || len(name) >= 6 && strings.HasPrefix(h.String(), name)) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return study.Hash{}, fmt.Errorf("there is no study %q here: see caucus agent preview", name)
	case 1:
		return found[0], nil
	}
	return study.Hash{}, fmt.Errorf("%d studies are called %q: name one by its hash, see caucus agent preview", len(found), name)
}

// plan reads the plan and checks that it is the one the folder is named by.
func (d dossier) plan() (study.Plan, error) {
	b, err := d.read(filePlan)
	if err != nil {
		return study.Plan{}, err
	}
	if got := study.HashOf(b).String(); got != filepath.Base(d.dir) {
		return study.Plan{}, fmt.Errorf("read %s: it has hash %s: it was changed", filepath.Join(d.dir, filePlan), got)
	}
	return kinds.ParsePlan(b)
}

func (d dossier) has(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

func (d dossier) read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(d.dir, name)) }

// write makes a fact. When it returns nil the fact survives a crash of the
// machine; before, it is not there at all.
func (d dossier) write(name string, b []byte) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if err := folder.Sync(filepath.Dir(d.dir)); err != nil {
		return err
	}
	return protocol.WriteSecret(filepath.Join(d.dir, name), b)
}

// remove takes a fact back, for good once it returns nil.
func (d dossier) remove(name string) error {
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return folder.Sync(d.dir)
}

// writeJSON makes a fact of a value.
func (d dossier) writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return d.write(name, append(b, '\n'))
}
