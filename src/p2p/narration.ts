// The short code that a payer writes beside the money. It is typed by hand and read aloud over bad lines, so it has no
// characters that look alike, and no vowels that could make it a word.

import type { Random } from '../kit/random.ts'

const ALPHABET = 'CDFGHJKMNPQRTVWX34679'
const LENGTH = 8

/** Bytes above the last whole round are thrown away: each character is as likely as any other. */
const LIMIT = 256 - (256 % ALPHABET.length)

export function newNarration(random: Random): string {
  let text = ''
  while (text.length < LENGTH) {
    const letters = [...random.bytes(2 * LENGTH)].filter((byte) => byte < LIMIT)
    text += letters.map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
  }
  return text.slice(0, LENGTH)
}

/** As it was meant, whatever case and spaces a bank made of it. */
export function readNarration(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}
