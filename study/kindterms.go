package study

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// EncodeTerms is the canonical form of a kind's terms: JSON in the order of their
// fields.
func EncodeTerms(terms any) (json.RawMessage, error) {
	b, err := json.Marshal(terms)
	if err != nil {
		return nil, PlanError("kind_terms", "%v", err)
	}
	return b, nil
}

// SetTerms writes the terms of the plan's kind into it.
func (p *Plan) SetTerms(terms any) (err error) {
	p.KindTerms, err = EncodeTerms(terms)
	return err
}

// DecodeTerms reads the terms of the plan's kind into what terms points to; a plan
// without any leaves it as it is. It refuses what the kind does not know, text that
// could pass for something else, and any writing but that of SetTerms: a plan's
// bytes are its name.
func (p Plan) DecodeTerms(terms any) error {
	if p.KindTerms == nil {
		return nil
	}
	if err := DecodeStrictly(p.KindTerms, terms); err != nil {
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
