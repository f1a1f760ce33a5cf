package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// dayTaken are the studies that this site took up in a day.
type dayTaken struct {
	Day     string       `json:"day"` // UTC
	Studies []study.Hash `json:"studies"`
}

// TakeUp counts a study among this day's, before its ledger is charged; false where the day
// has as many as the policy allows. It is counted once, also after a crash. The days are
// this machine's, and none comes again where its clock is put back.
func (s *Site) TakeUp(d Dossier, h study.Hash) (bool, error) {
	if d.Has(FileRecords) { // on another day, and is prepared anew
		return true, nil
	}
	file := filepath.Join(s.Config.State, "day.json")
	var t dayTaken
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read how many studies were taken up today, %s: %w: remove it if that stays so", file, err)
	}
	if today := s.Config.Now().UTC().Format(time.DateOnly); today > t.Day {
		t = dayTaken{Day: today}
	}
	if slices.Contains(t.Studies, h) {
		return true, nil
	}
	if len(t.Studies) >= s.Config.Policy.MostADay() {
		return false, nil
	}
	t.Studies = append(t.Studies, h)
	if b, err = json.Marshal(t); err != nil {
		return false, err
	}
	return true, protocol.WriteSecret(file, append(b, '\n'))
}
