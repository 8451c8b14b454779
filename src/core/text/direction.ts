// Values of any script inside a text of one direction.

import type { Direction } from '../languages.ts'

const FIRST_STRONG_ISOLATE = '\u2068'
const END_OF_ISOLATE = '\u2069'
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Isolates a value from the direction of the text around it. Control characters are dropped, because they could
 * change the order of other text.
 */
export function isolated(value: string, direction: Direction): string {
  const plain = withoutControls(value)
  if (direction === 'ltr' && !RIGHT_TO_LEFT.test(plain)) return plain
  return `${FIRST_STRONG_ISOLATE}${plain}${END_OF_ISOLATE}`
}

export function withoutControls(text: string): string {
  return text.replaceAll(DIRECTION_CONTROLS, '')
}
