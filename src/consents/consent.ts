// The payer's consent that a card or a mobile money number is saved and charged again. A setting of the merchant decides how
// the page asks. Without the payer's consent it is not saved.

import type { Language } from '../core/languages.ts'
import type { Clock } from '../kit/clock.ts'

export const SAVED_METHOD_MODES = ['always_tell', 'ask_with_checkbox', 'only_when_recurring'] as const
export type SavedMethodMode = (typeof SAVED_METHOD_MODES)[number]

/** How the page asks: a notice above the button, or a box that the payer ticks. */
export type ConsentForm = 'notice' | 'checkbox'

/**
 * The version of the texts `saveNotice`, `saveChoice`, `saveNumberNotice` and `saveNumberChoice` in all languages. A consent
 * refers to it, so a change of a text needs a new version; a test compares them.
 */
export const CONSENT_WORDING = '2'

/** What is saved. */
type Saved = 'card' | 'mobile_money'

export interface MethodConsent {
  /** ISO 8601. */
  agreedAt: string
  source: 'checkout' | 'payment_link' | 'sandbox'
  form: ConsentForm
  wordingVersion: string
  language: Language
}

interface ConsentApp {
  clock: Clock
  merchantProfile(merchantId: string): Promise<{ readonly savedMethods: SavedMethodMode }>
}

interface PaymentFacts {
  merchantId: string
  isRecurring: boolean
}

/**
 * How the page asks for the consent to save the method; null if it is not saved. The payer also has to approve it on the
 * phone if it is a number, so without a question it is saved only for a recurring payment.
 */
export async function consentFormFor(
  app: Pick<ConsentApp, 'merchantProfile'>,
  { merchantId, isRecurring }: PaymentFacts,
  saved: Saved = 'card',
): Promise<ConsentForm | null> {
  const { savedMethods } = await app.merchantProfile(merchantId)
  switch (savedMethods) {
    case 'always_tell':
      return saved === 'card' || isRecurring ? 'notice' : null
    case 'ask_with_checkbox':
      return 'checkbox'
    case 'only_when_recurring':
      return isRecurring ? 'notice' : null
  }
}

interface ConsentAnswer {
  /** A card when absent. */
  saved?: Saved
  /** The form that the payer has seen; undefined if the page has asked nothing. */
  seen: ConsentForm | undefined
  isTicked: boolean
  language: Language
  source: MethodConsent['source']
}

/** Null: the payer was not asked in the way that the merchant requires now, or did not agree. */
export async function readConsent(
  app: ConsentApp,
  payment: PaymentFacts,
  { saved, seen, isTicked, language, source }: ConsentAnswer,
): Promise<MethodConsent | null> {
  const form = await consentFormFor(app, payment, saved)
  if (form === null || form !== seen || (form === 'checkbox' && !isTicked)) return null
  return { agreedAt: app.clock.now().toISOString(), source, form, wordingVersion: CONSENT_WORDING, language }
}

/** The consent of a simulated payer, who agrees to whatever the page asks. */
export async function simulateConsent(app: ConsentApp, payment: PaymentFacts): Promise<MethodConsent | null> {
  const seen = (await consentFormFor(app, payment)) ?? undefined
  return readConsent(app, payment, { seen, isTicked: true, language: 'en', source: 'sandbox' })
}
