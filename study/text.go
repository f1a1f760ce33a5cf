package study

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText bounds each text of a plan, in bytes.
const MaxText = 1000

// CheckText refuses text that could mislead the person who approves it on a screen: invisible
// characters (controls, line breaks, escapes, marks that reverse the writing direction), and text
// too long to read.
func CheckText(text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("it has %d bytes, at most %d are shown to whoever approves it: shorten it", len(text), MaxText)
	}
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	for _, r := range text {
		if !unicode.IsGraphic(r) {
			return fmt.Errorf("it holds the control character %U: write it in one plain line", r)
		}
	}
	return nil
}

// checkTexts applies CheckText to every string inside v, so that later fields are checked too. at
// is v's JSON path.
func checkTexts(at string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if err := CheckText(v.String()); err != nil {
			return PlanError(at, "%v", err)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkTexts(at, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if err := checkTexts(strings.TrimPrefix(at+"."+name, "."), v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if k := v.Index(i).Kind(); k <= reflect.Complex128 {
				return nil
			}
			if err := checkTexts(fmt.Sprintf("%s[%d]", at, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return strings.Compare(a.String(), b.String())
		})
		for _, key := range keys {
			if err := checkTexts(at, key); err != nil {
				return err
			}
			if err := checkTexts(at, v.MapIndex(key)); err != nil {
				return err
			}
		}
	}
	return nil
}
