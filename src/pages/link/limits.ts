// Rate limits of the form of a payment link, per minute and process. Only complete forms count, because only they write
// anything.

import type { Clock } from '../../kit/clock.ts'
import { createActionLimit } from '../action-limit.ts'

// Many payers of a shop or a mobile network share an address; one visitor alone submits a few forms.
const PER_VISITOR = 120
// Against many addresses at once. One visitor reaches only its own limit, so it cannot close the link to others.
const PER_LINK = 600
// Slows down a script that tries many names for one e-mail address.
const PER_PAYER = 20

interface CompleteForm {
  linkId: string
  /** The client's address. */
  visitor: string
  /** Null: the payer was not asked. */
  email: string | null
}

export type FormLimits = (form: CompleteForm) => void

export function createFormLimits(app: { clock: Clock }): FormLimits {
  const perVisitor = createActionLimit(app, PER_VISITOR)
  const perLink = createActionLimit(app, PER_LINK)
  const perPayer = createActionLimit(app, PER_PAYER)
  return ({ linkId, visitor, email }) => {
    perVisitor(visitor)
    perLink(linkId)
    if (email !== null) perPayer(`${linkId} ${email.toLowerCase()}`)
  }
}
