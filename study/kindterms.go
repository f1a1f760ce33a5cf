package study

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// EncodeTerms writes a kind's terms as canonical JSON.
func EncodeTerms(terms any) (json.RawMessage, error) {
	b, err := json.Marshal(terms)
	if err != nil {
		return nil, PlanError("kind_terms", "%v", err)
	}
	return b, nil
}

// SetTerms stores a kind's terms in the form that DecodeTerms accepts. It fails only if terms
// cannot be JSON.
func (p *Plan) SetTerms(terms any) (err error) {
	p.KindTerms, err = EncodeTerms(terms)
	return err
}

// TermsOf returns the kind terms of a plan that has been checked.
func TermsOf[T any](p Plan) (t T) {
	_ = p.DecodeTerms(&t)
	return t
}

// DecodeTerms reads the plan's kind terms into terms, which stay unchanged if the plan has none. It
// refuses unknown fields, deceptive text (CheckText), and any encoding except SetTerms', because
// the plan's hash covers the bytes.
func (p Plan) DecodeTerms(terms any) error {
	if p.KindTerms == nil {
		return nil
	}
	if err := DecodeStrictJSON(p.KindTerms, terms); err != nil {
		return PlanError("kind_terms", "%v", err)
	}
	canonical, err := EncodeTerms(terms)
	if err != nil {
		return err
	}
	if !bytes.Equal(canonical, p.KindTerms) {
		return PlanError("kind_terms", "they are not written in the canonical way, or leave something out: want %s", canonical)
	}
	return checkTexts("kind_terms", reflect.ValueOf(terms))
}
