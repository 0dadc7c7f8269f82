package conversion

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// checkSyntax demands that the cursor takes a text as JSON exactly if encoding/json and jsontext do, whether it reads the text whole
// or member by member, and that it reads strings as encoding/json does.
func checkSyntax(t testing.TB, text []byte) {
	t.Helper()
	want := json.Valid(text)
	if lenient := jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); lenient != want {
		t.Fatalf("%q: encoding/json says %t, jsontext %t", text, want, lenient)
	}
	if got := validJSON(text); got != want {
		t.Fatalf("%q: as one value %t, want %t", text, got, want)
	}
	c := cursor{text: text}
	readAll(t, &c)
	if c.done() != want {
		t.Fatalf("%q: member by member %t, want %t", text, c.done(), want)
	}
	for _, limit := range []int{1, 2, 5} { // too short a limit for the shortcut of deeperThan
		if got, want := want && valueEnd(text, afterSpace(text, 0), limit) < 0, want && depthOf(text) > limit; got != want {
			t.Fatalf("%q: deeper than %d: %t", text, limit, got)
		}
	}
}

// readAll reads the value at the cursor to its last member.
func readAll(t testing.TB, c *cursor) {
	switch c.peek() {
	case '{':
		for c.enter(); c.more('}'); {
			checkString(t, c.name())
			readAll(t, c)
		}
	case '[':
		for c.enter(); c.more(']'); {
			readAll(t, c)
		}
	default:
		if value := c.value(); isString(value) {
			checkString(t, value)
		}
	}
}

func checkString(t testing.TB, quoted []byte) {
	t.Helper()
	var want string
	if err := json.Unmarshal(quoted, &want); err != nil {
		t.Fatalf("%q is no string: %v", quoted, err)
	}
	if got := string([]rune(string(plain(quoted)))); got != want { // each byte that is not UTF-8 is U+FFFD
		t.Fatalf("%q means %q, want %q", quoted, got, want)
	}
	if again := appendQuoted(nil, plain(quoted)); string(plain(again)) != string(plain(quoted)) || !validJSON(again) {
		t.Fatalf("%q is written %q", quoted, again)
	}
}

// depthOf is how deep a valid text nests.
func depthOf(text []byte) (deepest int) {
	decoder := jsontext.NewDecoder(strings.NewReader(string(text)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, decoder.StackDepth())
	}
}

// syntaxSeeds are texts on both sides of the border.
var syntaxSeeds = []string{
	``, ` `, `{}`, `[]`, `null`, `true`, `false`, `tru`, `nul`, `nulll`, `truee`, `{`, `[`, `}`, `]`, `{]`, `[}`, `{"a":1]`, `[1}`, `,`, `:`, `""`, `"`,
	`{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":1,,"b":2}`, `{a:1}`, `{1:1}`, `{"a":1}{}`, `{"a":1} x`, `[1,]`, `[,1]`, `[1 2]`, `[1,,2]`,
	`0`, `-0`, `-`, `+1`, `01`, `-01`, `1.`, `.1`, `1.0`, `1e`, `1e+`, `1E-2`, `1e1.5`, `0x1`, `NaN`, `Infinity`, `-Infinity`, `1_0`, `00`, `1 2`, `1e400`, `123456789012345678901234567890`,
	`"\""`, `"\\"`, `"\\\"`, `"\/\b\f\n\r\t"`, `"\a"`, `"\u00"`, `"\u00zz"`, `"\u0000"`, `"\uD83C\uDF89"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800\uzzzz"`, `"\udc00\ud800"`,
	"\"\n\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\x80\xff\"", "\ufeff{}", "{}\x00", "\x00", "\u00a0{}", "[\v1]", "{\"a\"\f:1}", " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n",
	`"abcdefg\"hijklmn\"\"\"\"\\\\\\\""`, `"abcdefg\`, `"abcdefgh\"`, `"\u1`, `// c`, `{"a":1 /* c */}`, `'a'`, `{'a':1}`, "\"aaaaaaaa\tbbbbbbbb\"", `"aaaaaaa\qbbbbbbbb"`, `{"aaaaaaaaa":{"b":[{"c":[[[]]]}]}}`,
}

// TestSyntax compares with two other readers of JSON: seeds, what becomes of them and of random objects by small damage, and depth.
func TestSyntax(t *testing.T) {
	r := newRandom(t)
	for _, seed := range syntaxSeeds {
		checkSyntax(t, []byte(seed))
		for range 50 {
			checkSyntax(t, r.damaged([]byte(seed)))
		}
	}
	for range *objects / 2 {
		text := r.object(standard.all[r.IntN(2)], pick(r, hubVersion, "v1alpha1"), 60)
		checkSyntax(t, text)
		checkSyntax(t, r.damaged(text))
		checkSyntax(t, []byte(quotedJSON(string(text))))
	}
	for _, n := range []int{maxNesting - 1, maxNesting, maxNesting + 1} {
		checkSyntax(t, []byte(deep(n)))
		checkSyntax(t, []byte(strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n)))
		checkSyntax(t, []byte(strings.Repeat(`[`, n)))
	}
}

// damaged changes a few bytes of a text.
func (r *random) damaged(text []byte) []byte {
	const bytes = "{}[]:,\"\\/-+.eEuntrf0123456789 \t\n\x00\x1f\x80"
	out := append([]byte(nil), text...)
	for range 1 + r.IntN(3) {
		i := r.IntN(len(out) + 1)
		switch b := bytes[r.IntN(len(bytes))]; {
		case r.chance(40) || i == len(out):
			out = append(out[:i], append([]byte{b}, out[i:]...)...)
		case r.chance(50):
			out = append(out[:i], out[i+1:]...)
		default:
			out[i] = b
		}
	}
	return out
}

// FuzzSyntax looks for texts about which the readers disagree.
func FuzzSyntax(f *testing.F) {
	for _, seed := range syntaxSeeds {
		f.Add([]byte(seed))
	}
	r := &random{rand.New(rand.NewPCG(1, 1))}
	for range 20 {
		f.Add(r.object(standard.all[0], hubVersion, 60))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkSyntax(t, text) })
}
