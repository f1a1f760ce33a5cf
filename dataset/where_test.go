package dataset

import (
	"fmt"
	"strings"
	"testing"
)

func TestConditionRows(t *testing.T) {
	table, err := NewTable([]string{"age", "income", "work class"}, [][]string{
		{"30", " >50K", "a"}, {"29.5", "<=50K", "b"}, {"?", ">50K", ""}, {"30.0", "<=50K", "or"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`income == ">50K"`:                "1010",
		`income != '>50K'`:                "0101",
		`age >= 30`:                       "1001",
		`age < 30`:                        "0100",
		`age == 30`:                       "1001",
		`age != 30`:                       "0110",
		`age > 29.5 and income == ">50K"`: "1000",
		`income==">50K" or age<30 and "work class"==b`:              "1110",
		`(income==">50K" or age<30) and "work class"==b`:            "0100",
		`not (income == ">50K")`:                                    "0101",
		`not not "work class" == ""`:                                "0010",
		`"work class" == "or" or "work class" == a`:                 "1001",
		"age <= 30\u00a0and age >= 0":                               "1101",
		`age >= 10 and not income == ">50K" or age == "?"`:          "0111",
		strings.Repeat("(", 20) + "age>0" + strings.Repeat(")", 20): "1101",
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		rows, err := c.Rows(table)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, r := range rows {
			got += fmt.Sprint(map[bool]int{true: 1}[r])
		}
		if got != want {
			t.Errorf("%s: have %s, want %s", text, got, want)
		}
	}
	c, _ := ParseCondition("sex == 1")
	if _, err := c.Rows(table); err == nil || !strings.Contains(err.Error(), "income") {
		t.Errorf("an unknown column: have %v, want an error that lists the columns", err)
	}
}

func TestConditionRefusals(t *testing.T) {
	for _, text := range []string{
		"", "income", "income ==", `income = ">50K"`, `income == ">50K`, "(age > 3", "age > 3)", "age > 3 and", "not",
		"age > 3 4", "> 3 4", "a ( b", "a ! b", strings.Repeat("(", 80) + "a>1" + strings.Repeat(")", 80),
		strings.Repeat("not ", 80) + "a>1", strings.Repeat("a", 5000),
	} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%.40q was accepted", text)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{`income == ">50K" and age >= 30`, "not (a<1 or 'b c' != d)", "((", "a=1"} {
		f.Add(s)
	}
	table, _ := NewTable([]string{"a"}, [][]string{{"1"}, {"x"}})
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseCondition(s); err == nil {
			c.Rows(table)
		}
	})
}
