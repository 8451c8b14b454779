// The payments of the pictures in docs/screens: the same shop, amounts, references and times in every run, so that a
// picture changes only when the page does.

import assert from 'node:assert/strict'
import { CUSTOMER } from '../support/builders.ts'
import type { Cleanup } from '../support/database.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { createPayer, openCheckout } from '../support/payer.ts'
import { testService } from '../support/service.ts'
import { brandedMerchant } from './brand.ts'

export type SubjectName =
  | 'open'
  | 'prompt'
  | 'transfer'
  | 'paid'
  | 'receipt'
  | 'card-page'
  | 'three-d-secure'
  | 'landing'

export interface ScreenshotSubjects {
  /** The time on the pictures. */
  now: Date
  /** The service's address, which differs in every run. */
  origin: string
  subjects: Readonly<Record<SubjectName, string>>
}

const SECOND = 1_000

const PHONE = { channel: 'mobile_money', phone: '0712 345 678', network: 'mpesa_ke' }
const APPROVED_CARD = { instrument: 'card_3ds', action: 'pay' }
const BOOKS = {
  amount: 1_250,
  currency: 'KES',
  description: 'Kamusi ya Kiswahili, 2 copies',
  customer: CUSTOMER,
}
// Not in naira: the fonts of the test browser have no ₦.
const TRANSFER = { ...BOOKS, amount: 15_000, description: 'School books, term 1' }

export async function prepareSubjects(t: Cleanup): Promise<ScreenshotSubjects> {
  const clock = frozenClock(new Date('2026-03-14T09:20:00Z'))
  // One invariant compares with the time of PostgreSQL, at which these payments are processing for too long.
  const service = await testService(t, { clock, checksInvariants: false })
  const api = await brandedMerchant(service)
  const payer = createPayer()
  const checkout = (reference: string, body = BOOKS) =>
    openCheckout(api, payer, { ...body, reference, redirectUrl: 'http://localhost/thanks' })

  const transfer = await checkout('ORDER-1040', TRANSFER)
  const paid = await checkout('ORDER-1041')
  const prompt = await checkout('ORDER-1042')
  const card = await checkout('ORDER-1043')
  const approval = await checkout('ORDER-1044')
  const open = await checkout('ORDER-1045')
  clock.advance(201 * SECOND)

  await payer.submit(paid.page, '/attempts', { ...PHONE, mobile_money_instrument: 'mobile_success' })
  clock.advance(27 * SECOND)
  await payer.submit(await payer.open(paid.checkoutUrl), '/check')
  assert.equal((await paid.read()).status, 'successful')
  await payer.submit(prompt.page, '/attempts', { ...PHONE, mobile_money_instrument: 'mobile_timeout' })
  clock.advance(12 * SECOND)
  // Waiting payments complete two seconds later, so the clock is stopped from here on.
  await payer.submit(transfer.page, '/attempts', { channel: 'bank_transfer' })
  const cardPage = await payer.goToCardPage(card.page)
  const approvalPage = await payer.submit(await payer.goToCardPage(approval.page), '', APPROVED_CARD)
  return {
    now: clock.now(),
    origin: service.url,
    subjects: {
      open: open.checkoutUrl,
      prompt: prompt.checkoutUrl,
      transfer: transfer.checkoutUrl,
      paid: paid.checkoutUrl,
      receipt: `${paid.checkoutUrl}/receipt`,
      'card-page': cardPage.url,
      'three-d-secure': approvalPage.url,
      landing: `${service.url}/`,
    },
  }
}
