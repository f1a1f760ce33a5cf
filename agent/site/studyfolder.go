package site

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// Files of a study folder. Each holds one fact, and is complete if it exists.
const (
	FilePlan          = "plan.json" // canonical bytes
	FilePlanSignature = "plan.sig"  // the coordinator's signature on them
	fileApproval      = "approval-" // a person approved; the name follows
	FileRefused       = "refused"   // a person refused
	// the coordinator has heard that this party does not take part
	FileDeclined      = "declined"
	FileReadFailure   = "unread"        // why empty records replaced the site's records
	FileSourceRemarks = "odd"           // what was unexpected in the source's file
	FileVoteFailure   = "no-votes"      // why the site's own program gave no votes or scores
	fileLedger        = "ledger.seq"    // the ledger's head when the upload was made
	FileRecords       = "records"       // number of records declared when the ledger was charged
	fileHelper        = "helper.json"   // the helper's acceptance, as the coordinator passed it on
	FileForecast      = "forecast.json" // the operator's signed forecast
	FileSchedule      = "due.json"      // the window's moments, fixed before the records were read
	FileMissedWindow  = "late"          // what was not ready by the window's end
	FileUpload        = "upload"        // the body; only these bytes are ever sent
	FileReceipt       = "receipt.json"  // the coordinator's receipt
	FileClosed        = "closed"        // how the study ended for this site without a release
	FileRelease       = "release.json"
	// FileAmendments holds the plan's signed amendments. FileEnded holds their number when the
	// study ended (StudyFolder.AmendmentsAtEnd).
	FileAmendments = "amendments.json"
	FileEnded      = "ended"
	// FileNotice is the newest notice carried here. FileAnswer is the first answer to carry away
	// (protocol.Courier).
	FileNotice = "notice.json"
	FileAnswer = "answer.json"
)

// Schedule holds the moments of a window: its begin, its end, and the upload.
type Schedule struct {
	WindowStart time.Time `json:"from"`
	WindowEnd   time.Time `json:"until"`
	UploadAt    time.Time `json:"leaves"`
}

// TooEarly reports whether an upload still waits for its moment. A clock that was set back delays
// nothing.
func (sf StudyFolder) TooEarly(now time.Time) bool {
	var fixed Schedule
	b, err := sf.Read(FileSchedule)
	return err == nil && json.Unmarshal(b, &fixed) == nil && now.After(fixed.WindowStart) &&
		now.Before(fixed.UploadAt)
}

// DeclaredRecords is the number of records declared when the ledger was charged for the study, 0
// before. If the source was declared again after a crash, the charged number is still prepared.
func (sf StudyFolder) DeclaredRecords() int {
	b, err := sf.Read(FileRecords)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// StudyFolder is this site's folder of one study, named by the plan's hash.
type StudyFolder struct{ Dir string }

// StudyFolders is the folder with a StudyFolder for each study, from which an agent knows after a
// restart what it charged and sent.
type StudyFolders struct{ dir string }

// Folder names a study's folder by the plan's hash, without making it or looking whether it is
// there.
func (s StudyFolders) Folder(h study.Hash) StudyFolder {
	return StudyFolder{filepath.Join(s.dir, h.String())}
}

// All lists the hashes that have a plan.
func (s StudyFolders) All() ([]study.Hash, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []study.Hash
	for _, e := range entries {
		var h study.Hash
		if h.UnmarshalText([]byte(e.Name())) == nil && s.Folder(h).Has(FilePlan) {
			out = append(out, h)
		}
	}
	return out, nil
}

// Released lists the studies with a release here, newest first.
func (s StudyFolders) Released() ([]study.Hash, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	since := map[study.Hash]time.Time{}
	for _, h := range all {
		if info, err := os.Stat(filepath.Join(s.Folder(h).Dir, FileRelease)); err == nil {
			since[h] = info.ModTime()
		}
	}
	return slices.SortedFunc(maps.Keys(since), func(a, b study.Hash) int {
		return cmp.Or(since[b].Compare(since[a]), slices.Compare(a[:], b[:]))
	}), nil
}

// Folders lists all study folders, with or without a plan.
func (s StudyFolders) Folders() ([]StudyFolder, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var out []StudyFolder
	for _, e := range entries {
		var h study.Hash
		if e.IsDir() && h.UnmarshalText([]byte(e.Name())) == nil {
			out = append(out, s.Folder(h))
		}
	}
	return out, nil
}

// LastLedgerEntry is the sequence number that the ledger must have reached, 0 before any upload.
// charged reports whether there must be a ledger at all.
func (s StudyFolders) LastLedgerEntry() (last int64, charged bool, err error) {
	heads, charged, err := s.heads()
	for _, h := range heads {
		last = max(last, h.Sequence)
	}
	return last, charged, err
}

// heads lists the ledger's heads at each upload. Heads stored by older versions have no hash.
func (s StudyFolders) heads() (heads []privacy.Head, charged bool, err error) {
	all, err := s.Folders()
	if err != nil {
		return nil, false, err
	}
	return headsOf(all)
}

func headsOf(all []StudyFolder) (heads []privacy.Head, charged bool, err error) {
	for _, f := range all {
		charged = charged || f.Has(FileUpload) || f.Has(FileReceipt) || f.Has(fileLedger)
		b, err := f.Read(fileLedger)
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
			return nil, false, fmt.Errorf("read %s: it does not hold the number of a ledger entry: restore it from a backup", filepath.Join(f.Dir, fileLedger))
		}
		heads = append(heads, h)
	}
	return heads, charged, nil
}

// RemoveTemporary removes temporary files of writes that a kill interrupted. Only the holder of the
// state folder's lock may call it, because no other process writes these files then.
func (s StudyFolders) RemoveTemporary() error {
	all, err := s.Folders()
	if err != nil {
		return err
	}
	for _, f := range all {
		for _, name := range []string{FilePlan, FilePlanSignature, FileDeclined, FileReadFailure,
			FileSourceRemarks,
			FileVoteFailure, fileLedger, FileRecords, fileHelper, FileForecast, FileSchedule, FileMissedWindow,
			FileUpload, FileReceipt, FileClosed, FileRelease, FileAmendments, FileEnded, FileNotice,
			FileAnswer} {
			stale, err := filepath.Glob(filepath.Join(f.Dir, "."+name+"-*"))
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

// Find finds a study by its plan's name, its hash, or at least six characters of the hash's start.
func (s StudyFolders) Find(name string) (study.Hash, error) {
	all, err := s.All()
	if err != nil {
		return study.Hash{}, err
	}
	var found []study.Hash
	for _, h := range all {
		var p struct{ Name string } // a plan that this version cannot read is found too
		b, err := s.Folder(h).Read(FilePlan)
		if err == nil && json.Unmarshal(b, &p) == nil &&
			(p.Name == name || len(name) >= 6 && strings.HasPrefix(h.String(), name)) {
			found = append(found, h)
		}
	}
	if len(found) > 1 { // a study that was cancelled leaves its name to another
		found = slices.DeleteFunc(found, func(h study.Hash) bool {
			return s.Folder(h).Has(FileClosed)
		})
	}
	switch len(found) {
	case 0:
		return study.Hash{}, fmt.Errorf("there is no study %q here: caucus agent preview lists those that are open to this site", name)
	case 1:
		return found[0], nil
	}
	return study.Hash{}, fmt.Errorf("%d studies are called %q: name one by its hash, see caucus agent preview", len(found), name)
}

// Plan reads the plan and checks that its hash is the folder's name.
func (sf StudyFolder) Plan() (study.Plan, error) {
	b, err := sf.Read(FilePlan)
	if err != nil {
		return study.Plan{}, err
	}
	if got := study.HashOf(b).String(); got != filepath.Base(sf.Dir) {
		return study.Plan{}, fmt.Errorf("read %s: it has hash %s: it was changed",
			filepath.Join(sf.Dir, FilePlan), got)
	}
	return kinds.ParsePlan(b)
}

// Has reports whether a file of this name can be found. A fault of the disk looks like absence.
func (sf StudyFolder) Has(name string) bool {
	_, err := os.Stat(filepath.Join(sf.Dir, name))
	return err == nil
}

// Read returns a fact's bytes. Without the fact the error wraps fs.ErrNotExist.
func (sf StudyFolder) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(sf.Dir, name))
}

// Write stores a fact whole. After it has returned nil, the fact survives a crash of the machine.
func (sf StudyFolder) Write(name string, b []byte) error {
	if err := os.MkdirAll(sf.Dir, 0o700); err != nil {
		return err
	}
	if err := folder.Sync(filepath.Dir(sf.Dir)); err != nil {
		return err
	}
	return protocol.WriteSecret(filepath.Join(sf.Dir, name), b)
}

// Remove removes a fact. After it has returned nil, the removal survives a crash of the machine.
func (sf StudyFolder) Remove(name string) error {
	if err := os.Remove(filepath.Join(sf.Dir, name)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return folder.Sync(sf.Dir)
}

// WriteJSON stores a fact as indented JSON, whole and durable like Write.
func (sf StudyFolder) WriteJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return sf.Write(name, append(b, '\n'))
}
