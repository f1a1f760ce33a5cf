package privacy

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestSensitiveDoesNotPrint(t *testing.T) {
	const telltale = 7351
	s, err := NewSensitive([]int64{telltale, telltale}, Bound{Unit: Record, L1: 1})
	if err != nil {
		t.Fatal(err)
	}
	literal := NewUnprovenVector([]float64{telltale}, Record)
	address := regexp.MustCompile(`(0[xX])?[0-9a-fA-F]{6,}|\d{7,}`)
	type holder struct {
		hidden  Sensitive
		Visible *Sensitive
		list    []Sensitive
	}
	h := holder{hidden: s, Visible: &literal, list: []Sensitive{s, literal}}
	for _, x := range []any{s, &s, literal, h, &h, []Sensitive{s}, map[string]Sensitive{"a": s},
		fmt.Errorf("bad: %v", s)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q", "%g", "%08.3f",
			"%T"} {
			out := fmt.Sprintf(verb, x)
			for _, form := range []string{"7351", fmt.Sprintf("%x", telltale),
				fmt.Sprintf("%o", telltale)} {
				if strings.Contains(address.ReplaceAllString(out, ""), form) {
					t.Errorf("%s of %T prints %s", verb, x, out)
				}
			}
		}
	}
	if got := fmt.Sprintf("%v %s %#v %d", s, s, s,
		&s); got != "sensitive sensitive sensitive sensitive" {
		t.Errorf("prints as %s", got)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "h", h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s)
	if strings.Contains(log.String(), "7351") {
		t.Errorf("logs as %s", log.String())
	}
	for _, x := range []any{s, &s, h} {
		if out, err := json.Marshal(x); err == nil {
			t.Errorf("json of %T gives %s", x, out)
		}
	}
	if err := gob.NewEncoder(&bytes.Buffer{}).Encode(s); err == nil {
		t.Error("gob encodes it")
	}
	if out, err := xml.Marshal(s); err == nil {
		t.Errorf("xml gives %s", out)
	}
}

func TestNewSensitive(t *testing.T) {
	good := Bound{Unit: Record, L1: 2, L2sq: 4, Weight: []int64{1, 3}, Cells: 2}
	values := []int64{math.MaxInt64, math.MinInt64}
	s, err := NewSensitive(values, good)
	if err != nil {
		t.Fatalf("a value caused %v", err)
	}
	if s.open().values[0] != limit || s.open().values[1] != -limit {
		t.Errorf("values became %v", s.open().values)
	}
	good.Weight[0], values[0] = 9, 9
	if s.Bound().Weight[0] != 1 || s.open().values[0] != limit {
		t.Error("the vector or its bound shares memory with the caller")
	}
	s.Bound().Weight[0] = 5
	if s.Bound().Weight[0] != 1 {
		t.Error("Bound hands out its own memory")
	}
	for name, b := range map[string]Bound{
		"no unit":         {L1: 1},
		"unit 9":          {Unit: 9, L1: 1},
		"no norm":         {Unit: Record},
		"negative L1":     {Unit: Record, L1: -1, L2sq: 1},
		"negative L2":     {Unit: Record, L1: 1, L2sq: -1},
		"one weight":      {Unit: Record, L1: 1, Weight: []int64{1}},
		"no weights":      {Unit: Record, L1: 1, Weight: []int64{}},
		"zero weight":     {Unit: Record, L1: 1, Weight: []int64{1, 0}},
		"three cells":     {Unit: Record, L1: 1, Cells: 3},
		"negative cells":  {Unit: Record, L1: 1, Cells: -1},
		"negative number": {Unit: Record, L1: 1, PerParty: -1},
	} {
		if _, err := NewSensitive([]int64{1, 2}, b); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := NewSensitive(nil, Bound{Unit: Record, L1: 1}); err == nil {
		t.Error("no coordinates were accepted")
	}
}

func TestUnits(t *testing.T) {
	for _, u := range Units() {
		text, err := u.MarshalText()
		var back Unit
		if err != nil || back.UnmarshalText(text) != nil || back != u {
			t.Errorf("%v becomes %s, %v", u, text, back)
		}
	}
	if !(Label < Record && Record < Patient && Patient < Party) {
		t.Error("units are out of order")
	}
	if _, err := ParseUnit("person"); err == nil {
		t.Error("an unknown unit was parsed")
	}
	if _, err := Unit(0).MarshalText(); err == nil {
		t.Error("the zero unit was marshalled")
	}
}
