package dataset

import "testing"

// TestLevelsFoldWhatIsExact: a level is found under another form of the same text or number, and
// under nothing that only rounds to it.
func TestLevelsFoldWhatIsExact(t *testing.T) {
	l := newLevels([]string{"9007199254740992", "10", "3.0", " ward ", "Zu\u0308rich"})
	for text, want := range map[string]int{
		"9007199254740992": 0, "9007199254740993": -1, "9007199254740992.0": 0,
		"10": 1, "010": 1, "10.0": 1, "1E1": -1, "1e1": -1,
		"3": 2, "3.00": 2, "3.0000000000000000001": -1,
		"ward": 3, " ward ": 3, "ward ": 3, "war d": -1,
		"Z\u00fcrich": 4, "Zu\u0308rich": 4, " Z\u00fcrich": 4, "Zurich": -1, "": -1,
	} {
		at, found := l.find(text)
		if !found {
			at = -1
		}
		if at != want {
			t.Errorf("%q is level %d, want %d", text, at, want)
		}
	}
}
