package protocol

import (
	"strings"
	"testing"
)

// TestCheckPerson: a name has letters of any script, and single spaces; names that only a machine
// would have, and names that a line or a path would be read wrongly by, are none.
func TestCheckPerson(t *testing.T) {
	for name, ok := range map[string]bool{
		"alice": true, "Anna Schmidt": true, "Müller": true, "O'Brien-Müller": true, "O’Brien": true,
		"Dr. Anna Maria": true, "李明": true, "Мария": true, "u\u0308ber": true, "a.b_c-1": true,
		strings.Repeat("ü", 63): true,
		"":                      false, " a": false, "a ": false, "a  b": false, "-a": false, "a/b": false,
		"../a": false, "a\nb": false, "a\tb": false, "a\x00": false, "a,b": false, "a\u202eb": false,
		"<b>": false, "policy": false, "Policy": false, "ledger": false, "person": false,
		strings.Repeat("a", 64): false, "\xff": false,
	} {
		if err := CheckPersonName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
