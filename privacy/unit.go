package privacy

import "fmt"

// Unit says what one release hides: neighbouring data differ by replacing one unit, all sizes
// unchanged. Units are ordered from fine to coarse. The zero Unit is refused everywhere.
type Unit uint8

const (
	Label   Unit = iota + 1 // one label; its record's features are not hidden
	Record                  // one record: a row
	Patient                 // all records of one patient in one party
	Party                   // everything one party holds
)

var unitNames = map[Unit]string{Label: "label", Record: "record", Patient: "patient",
	Party: "party"}

// Units lists all units, finest first.
func Units() []Unit { return []Unit{Label, Record, Patient, Party} }

// ParseUnit accepts exactly "label", "record", "patient" or "party", in lower case.
func ParseUnit(name string) (Unit, error) {
	for u, n := range unitNames {
		if n == name {
			return u, nil
		}
	}
	return 0, fmt.Errorf("parse unit %q: use label, record, patient or party", name)
}

// String returns the name that ParseUnit reads, or "unit(n)" for a number that is no unit.
func (u Unit) String() string {
	if n, ok := unitNames[u]; ok {
		return n
	}
	return fmt.Sprintf("unit(%d)", uint8(u))
}

// Valid reports whether u is Label, Record, Patient or Party; the zero Unit is none of them.
func (u Unit) Valid() bool { return Label <= u && u <= Party }

// MarshalText fails for a number that is no unit, so none gets into a plan or journal.
func (u Unit) MarshalText() ([]byte, error) {
	if !u.Valid() {
		return nil, fmt.Errorf("marshal unit %d: use label, record, patient or party", uint8(u))
	}
	return []byte(u.String()), nil
}

// UnmarshalText reads as ParseUnit does. An error leaves u unchanged.
func (u *Unit) UnmarshalText(text []byte) error {
	v, err := ParseUnit(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}
