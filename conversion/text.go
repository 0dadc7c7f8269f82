package conversion

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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

// nameKey returns what a name is told from others by: what it means, but halves of surrogate pairs, which all mean U+FFFD, stay
// different. No other text begins with the byte 0xff, which is not UTF-8.
func nameKey(quoted []byte) []byte {
	key := plain(quoted)
	if len(key) == len(quoted)-len(`""`) || !bytes.ContainsRune(key, utf8.RuneError) {
		return key
	}
	return appendNormalString([]byte{0xff}, quoted)
}

// hasEscape reports whether there is a backslash.
func hasEscape(text []byte) bool { return bytes.IndexByte(text, '\\') >= 0 }

// appendUnquoted appends what a JSON string means; see cursor.unquoted.
func appendUnquoted(dst, quoted []byte) []byte {
	c := cursor{text: quoted}
	return c.unquoted(dst)
}

// appendOrdinary appends text up to the first byte that cannot stand in a string as it is, but takes escaped quotes for what they
// mean, and returns the rest. It copies eight bytes at a time and takes back what was too much, which is faster than copying pieces
// where quotes are dense.
func appendOrdinary(dst, text []byte) (out, rest []byte) {
	const firstByte = 0x80
	literal := uint64(0) // firstByte after the backslash of an escaped quote
	for len(text) >= 8 {
		word := binary.LittleEndian.Uint64(text)
		if bytesControl(word) != 0 {
			break
		}
		dst = binary.LittleEndian.AppendUint64(dst, word)
		special := (bytesEqual(word, '"') | bytesEqual(word, '\\')) &^ literal
		if special == 0 {
			text, literal = text[8:], 0
			continue
		}
		n := bits.TrailingZeros64(special) / 8
		dst, text = dst[:len(dst)-8+n], text[n:]
		if len(text) < 2 || text[0] != '\\' || text[1] != '"' {
			return dst, text
		}
		text, literal = text[1:], firstByte
	}
	if literal != 0 {
		dst, text = append(dst, '"'), text[1:]
	}
	for i, b := range text {
		if needsEscape[b] == 1 {
			return dst, text[i:]
		}
		dst = append(dst, b)
	}
	return dst, nil
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
		if utf16.IsSurrogate(r) && escapeEnd(text, 6) == 12 {
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

// needsEscape is 1 for the bytes that cannot stand in a JSON string as they are, and 0 for others.
var needsEscape = func() (table [256]uint8) {
	for i := range 0x20 {
		table[i] = 1
	}
	table['"'], table['\\'] = 1, 1
	return table
}()

// appendQuoted appends text as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, text)
	return append(dst, '"')
}

// appendEscaped writes a backslash before every byte and overwrites it where none is needed: the quotes of JSON come too often
// and too irregularly for a processor to guess a branch.
func appendEscaped(dst, text []byte) []byte {
	for {
		dst, text = appendUpToControl(slices.Grow(dst, 2*len(text)), text)
		if len(text) == 0 {
			return dst
		}
		dst, text = appendEscape(dst, text[0]), text[1:]
	}
}

// appendUpToControl appends text up to the first control character, and returns the rest. dst has room for it.
func appendUpToControl(dst, text []byte) (out, rest []byte) {
	n := len(dst)
	dst = dst[:n+2*len(text)]
	for i, b := range text {
		if b < ' ' {
			return dst[:n], text[i:]
		}
		dst[n] = '\\'
		n += int(needsEscape[b])
		dst[n] = b
		n++
	}
	return dst[:n], nil
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
	for ; len(value) >= 8; value = value[8:] {
		word := binary.LittleEndian.Uint64(value)
		if bytesEqual(word, '\\')|bytesEqual(word, ' ')|bytesControl(word) != 0 {
			return false
		}
	}
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
		case utf16.IsSurrogate(r): // half a pair has no other form
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		case r < utf8.RuneSelf && needsEscape[r] == 1:
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
