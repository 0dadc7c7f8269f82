package conversion

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// plain returns what a JSON string means. Without escapes that is a slice of the string itself.
func plain(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if !hasEscape(inner) {
		return inner
	}
	return appendUnquoted(make([]byte, 0, len(inner)), quoted)
}

// hasEscape reports whether there is a backslash. Most strings are too short for anything smarter than a loop.
func hasEscape(text []byte) bool {
	if len(text) > 32 {
		return bytes.IndexByte(text, '\\') >= 0
	}
	for _, b := range text {
		if b == '\\' {
			return true
		}
	}
	return false
}

// appendUnquoted appends what a JSON string means. Half of a surrogate pair becomes U+FFFD, as in encoding/json.
func appendUnquoted(dst, quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	start := 0
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			continue
		}
		dst = append(dst, inner[start:i]...)
		if next := inner[i+1]; next == '"' || next == '\\' {
			start = i + 1 // the character itself begins the next piece
			i++
			continue
		}
		r, size := escaped(inner[i:])
		dst = utf8.AppendRune(dst, r)
		start = i + size
		i = start - 1
	}
	return append(dst, inner[start:]...)
}

// escaped returns the character an escape sequence stands for, and the length of the sequence.
func escaped(text []byte) (rune, int) {
	switch text[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r := hexRune(text[2:6])
		if utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(text[8:12])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, 6
	}
	return rune(text[1]), 2
}

func hexRune(digits []byte) (r rune) {
	for _, d := range digits {
		r <<= 4
		switch {
		case d >= 'a':
			r |= rune(d - 'a' + 10)
		case d >= 'A':
			r |= rune(d - 'A' + 10)
		default:
			r |= rune(d - '0')
		}
	}
	return r
}

const hexDigits = "0123456789abcdef"

// needsEscape marks the bytes that cannot stand in a JSON string as they are.
var needsEscape = func() (table [256]bool) {
	for i := range 0x20 {
		table[i] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

// appendQuoted appends text as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, text)
	return append(dst, '"')
}

func appendEscaped(dst, text []byte) []byte {
	dst = slices.Grow(dst, len(text)+len(text)/4)
	start := 0
	for i, b := range text {
		if !needsEscape[b] {
			continue
		}
		dst = append(dst, text[start:i]...)
		if b == '"' {
			dst = append(dst, '\\', '"')
		} else {
			dst = appendEscape(dst, b)
		}
		start = i + 1
	}
	return append(dst, text[start:]...)
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
}

// appendNormal appends a valid JSON value without white space between tokens and with every string in its
// shortest spelling, so that the text of an annotation does not depend on who wrote the object down. Numbers
// and the order of members stay as written.
func appendNormal(dst, value []byte) []byte {
	if isNormal(value) {
		return append(dst, value...)
	}
	start := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case ' ', '\n', '\r', '\t':
			dst = append(dst, value[start:i]...)
			start = i + 1
		case '"':
			end := stringEnd(value, i)
			if bytes.IndexByte(value[i:end], '\\') >= 0 {
				dst = append(dst, value[start:i]...)
				dst = appendNormalString(dst, value[i:end])
				start = end
			}
			i = end - 1
		}
	}
	return append(dst, value[start:]...)
}

// isNormal reports whether there is nothing to do for appendNormal; false may be wrong.
func isNormal(value []byte) bool {
	for _, b := range value {
		if b <= ' ' || b == '\\' {
			return false
		}
	}
	return true
}

func appendNormalString(dst, quoted []byte) []byte {
	for {
		i := bytes.IndexByte(quoted, '\\')
		if i < 0 {
			return append(dst, quoted...)
		}
		dst = append(dst, quoted[:i]...)
		r, size := escaped(quoted[i:])
		switch {
		case utf16.IsSurrogate(r): // half a pair has no other spelling
			dst = append(dst, quoted[i:i+size]...)
		case r < utf8.RuneSelf && needsEscape[r]:
			dst = appendEscape(dst, byte(r))
		default:
			dst = utf8.AppendRune(dst, r)
		}
		quoted = quoted[i+size:]
	}
}

// sameValue reports whether two values mean the same, where absent is a value of its own. Strings are compared
// by meaning, since the API server re-escapes them; numbers by their digits; objects member by member in order.
func sameValue(a, b []byte) bool {
	switch {
	case a == nil || b == nil:
		return a == nil && b == nil
	case bytes.Equal(a, b):
		return true
	case a[0] != b[0] || !isString(a) && !isArray(a) && !isObject(a):
		return false
	case isString(a):
		return bytes.Equal(plain(a), plain(b))
	}
	return bytes.Equal(appendNormal(nil, a), appendNormal(nil, b))
}

// appendMember appends a member and a comma; closeObject replaces the last comma.
func appendMember(dst, name, value []byte) []byte {
	dst = append(append(dst, name...), ':')
	return append(append(dst, value...), ',')
}

func closeObject(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = '}'
		return dst
	}
	return append(dst, '}')
}

func valueOr(value []byte, otherwise string) []byte {
	if value == nil {
		return []byte(otherwise)
	}
	return value
}
