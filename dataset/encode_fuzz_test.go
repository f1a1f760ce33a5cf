package dataset

import (
	"bytes"
	"testing"
)

// FuzzEncode: any file under any schema encodes to numbers in [0,1] and known classes, and every
// map keeps rows at norm 1. The bounds of releases rest on this.
func FuzzEncode(f *testing.F) {
	f.Add([]byte(clinic), []byte("outcome,age,cost,ward,x1,x2,x3,y\nyes,1e308,NaN,north,1,2,-3,0.5\n,,,,,,,\n"))
	f.Add([]byte("label: {column: y, classes: [a, b]}\nfeatures: [{column: n, kind: numeric, min: -1e308, max: 1e308, log: true, missing: true}]\n"), []byte("y,n\na,-Inf\nb,1e-320\nc,0x1p-1074\n"))
	f.Fuzz(func(t *testing.T, schema, file []byte) {
		if len(schema) > 1<<12 || len(file) > 1<<12 {
			return
		}
		s, err := ParseSchema(bytes.NewReader(schema))
		if err != nil || s.Dim() > 256 {
			return
		}
		table, err := ReadCSV(bytes.NewReader(file), s.Format())
		if err != nil {
			return
		}
		r, _, err := s.Encode(table)
		if err != nil || r.Len() == 0 {
			return
		}
		for i := range r.Len() {
			if r.Y[i] < -1 || r.Y[i] >= len(s.Classes()) {
				t.Fatalf("row %d has class %d", i, r.Y[i])
			}
			for j, v := range r.X.RawRowView(i) {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("row %d column %d is %v", i, j, v)
				}
			}
		}
		mapped := Identity(s).Apply(r.X)
		for i := range r.Len() {
			sum := 0.
			for _, v := range mapped.RawRowView(i) {
				sum += v * v
			}
			if !(sum <= 1) {
				t.Fatalf("mapped row %d has squared norm %v", i, sum)
			}
		}
	})
}
