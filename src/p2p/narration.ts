// The short code that identifies a transfer; the payer enters it as the reference. People type it and read it aloud, so it has
// no look-alike characters, and no vowels that could form words.

import type { Random } from '../kit/random.ts'

const ALPHABET = 'CDFGHJKMNPQRTVWX34679'
const LENGTH = 8

/** Rejection sampling: larger bytes are dropped, so that every character is equally likely. */
const LIMIT = 256 - (256 % ALPHABET.length)

export function newNarration(random: Random): string {
  let text = ''
  while (text.length < LENGTH) {
    const letters = [...random.bytes(2 * LENGTH)].filter((byte) => byte < LIMIT)
    text += letters.map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
  }
  return text.slice(0, LENGTH)
}

/** Normalizes the case, spaces and hyphens that a bank may have changed. */
export function readNarration(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}
