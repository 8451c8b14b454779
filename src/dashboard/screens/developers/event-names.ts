// Event types in the words of the person, with the code that programs get.

import { type Html, html } from '../../../kit/http/html.ts'
import type { Texts } from '../../frame/texts.ts'

/** Also of a pattern, such as payment.* */
export function eventWords({ word }: Pick<Texts, 'word'>, type: string): string {
  return word('event', type.replace(/\*$/, 'all').replace('.', '_'))
}

export function eventName(texts: Texts, type: string): Html {
  return html`${eventWords(texts, type)} <code dir="ltr">${type}</code>`
}
