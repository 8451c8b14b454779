// The payer's side of a link: check whether it can be paid, and start an ordinary payment.

import { createHash } from 'node:crypto'
import { initiatePayment } from '../checkout/initiate.ts'
import { ApiError } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Money } from '../core/money.ts'
import { placeholderEmail } from '../core/text/placeholder-email.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen, isUnpaid } from '../payments/states.ts'
import type { LinksApp } from './app.ts'
import type { LinkRow } from './link.ts'
import { findLinkBySlug } from './queries.ts'
import { needsEmail, requireRoute } from './require-route.ts'

export interface LinkView {
  link: LinkRow
  /** A gateway needs the payer's e-mail address; otherwise the form does not ask for it. */
  asksEmail: boolean
  /** `busy`: payments in progress have reserved all slots; `closed`: the merchant is suspended or no gateway can collect. */
  state: LinkRow['status'] | 'busy' | 'closed'
}

/** Returns the link of a slug, and whether it can be paid now. */
export async function openLink(app: LinksApp, slug: string): Promise<LinkView> {
  const link = await findLinkBySlug(app.db, slug, app.clock.now())
  if (!link) throw new ApiError('payment_link_not_found')
  const state = await stateOf(app, link)
  return { link, state, asksEmail: state !== 'active' || (await needsEmail(app, link.merchantId, link)) }
}

async function stateOf(app: LinksApp, link: LinkRow): Promise<LinkView['state']> {
  if (link.status !== 'active') return link.status
  if ((await app.isSuspended(link.merchantId)) || !(await hasRoute(app, link))) return 'closed'
  return link.maxPayments !== null && link.slotsReserved >= link.maxPayments ? 'busy' : 'active'
}

async function hasRoute(app: LinksApp, link: LinkRow): Promise<boolean> {
  try {
    await requireRoute(app, link.merchantId, link)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

export interface Payer {
  firstname: string
  lastname: string
  /** Null: the payer was not asked. */
  email: string | null
  amount: Money
  /** Identifies the form: submitting it twice makes one payment. */
  formToken: string
}

/** The payment of this form; undefined if an earlier submission started it and it has ended unpaid. */
export async function startLinkPayment(
  app: LinksApp,
  link: LinkRow,
  payer: Payer,
): Promise<PaymentRow | undefined> {
  const merchant = await app.requireMerchant(link.merchantId)
  const { firstname, lastname, amount } = payer
  const reference = referenceOf(link, payer)
  const email = payer.email ?? placeholderEmail(reference)
  const input = {
    reference,
    amount,
    description: link.title,
    metadata: link.metadata,
    customer: { firstname, lastname, email, country: null },
    country: link.country,
    redirectUrl: link.redirectUrl,
    isRecurring: false,
    linkId: link.id,
  }
  const { payment, replayed } = await initiatePayment(app, merchant, input, null)
  const hasEnded = replayed && isUnpaid(payment.status) && !isOpen(payment.status)
  return hasEnded ? undefined : payment
}

// 72 bits, so that references of one link do not collide.
const REFERENCE_BYTES = 9
const REFERENCE_CHARACTERS = 13

/**
 * The reference is a hash of the form token and the payer's input. A second submission is the same payment; a corrected e-mail
 * address starts another one.
 */
function referenceOf({ slug }: LinkRow, { formToken, firstname, lastname, email, amount }: Payer): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([formToken, firstname, lastname, email, String(amount.minor), amount.currency]))
    .digest()
  return `${slug}-${base62(digest.subarray(0, REFERENCE_BYTES), REFERENCE_CHARACTERS)}`
}
