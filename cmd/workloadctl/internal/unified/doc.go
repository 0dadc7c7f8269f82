// Package unified writes the difference of two texts as diff -u does. It imports nothing of this module.
package unified
