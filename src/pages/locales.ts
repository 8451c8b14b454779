// The texts of the payer's pages in seven languages: locales/, one file per language.

import type { Language } from '../core/languages.ts'
import { createTranslate } from '../kit/http/messages.ts'
import { AM } from './locales/am.ts'
import { AR } from './locales/ar.ts'
import { BN } from './locales/bn.ts'
import { EN, type MessageId, type Messages } from './locales/en.ts'
import { FR } from './locales/fr.ts'
import { PT } from './locales/pt.ts'
import { SW } from './locales/sw.ts'

interface LanguageTexts {
  messages: Messages
  /** Whether a native speaker has reviewed every text. */
  isReviewed: boolean
}

export const LOCALES: Readonly<Record<Language, LanguageTexts>> = {
  en: { messages: EN, isReviewed: true },
  fr: { messages: FR, isReviewed: false },
  pt: { messages: PT, isReviewed: false },
  sw: { messages: SW, isReviewed: false },
  ar: { messages: AR, isReviewed: false },
  am: { messages: AM, isReviewed: false },
  bn: { messages: BN, isReviewed: false },
}

export const translate = createTranslate<MessageId, Language>({
  ...{ en: EN, fr: FR, pt: PT, sw: SW, ar: AR, am: AM, bn: BN },
})
