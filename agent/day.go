package agent

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

// takeUp counts a study among this day's, before its ledger is charged; false where the day
// has as many as the policy allows. It is counted once, also after a crash. The days are
// this machine's, and none comes again where its clock is put back.
func (s *state) takeUp(d dossier, h study.Hash) (bool, error) {
	if d.has(fileRecords) { // on another day, and is prepared anew
		return true, nil
	}
	file := filepath.Join(s.config.State, "day.json")
	var t dayTaken
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read how many studies were taken up today, %s: %w: remove it if that stays so", file, err)
	}
	if today := s.config.now().UTC().Format(time.DateOnly); today > t.Day {
		t = dayTaken{Day: today}
	}
	if slices.Contains(t.Studies, h) {
		return true, nil
	}
	if len(t.Studies) >= s.config.Policy.studiesADay() {
		return false, nil
	}
	t.Studies = append(t.Studies, h)
	if b, err = json.Marshal(t); err != nil {
		return false, err
	}
	return true, protocol.WriteSecret(file, append(b, '\n'))
}
