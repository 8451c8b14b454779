// The refunds that a person has asked for, on home: those that wait, and what came of the others.

import { addMs } from '../../../kit/clock.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RefundRequest } from '../../../refund-requests/request.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { REQUESTS_PATH } from '../refunds.ts'

// Over a weekend.
const SHOWN_MS = 3 * 24 * 3_600_000
// More than a person asks for in that time.
const ASKED = '100'

/** Null if none waits, and nothing was decided about them in the last days. */
export async function ownRequests({ call, allows, texts: { t }, now }: ScreenRequest): Promise<Html | null> {
  if (!allows('refundRequests.create') || !allows('refundRequests.list')) return null
  const query = { whose: 'own', limit: ASKED }
  // A boundary: the operation returns records of this type.
  const requests = (await call('refundRequests.list', { query })).data as RefundRequest[]
  const since = addMs(now, -SHOWN_MS).toISOString()
  const recent = requests.filter(({ decidedAt }) => decidedAt !== null && decidedAt >= since)
  const count = (wanted: RefundRequest['status']) => recent.filter(({ status }) => status === wanted).length
  const [approved, rejected] = [count('approved'), count('rejected')]
  const waiting = requests.filter(({ status }) => status === 'awaiting_approval').length
  if (waiting + approved + rejected === 0) return null
  return html`${t('attentionOwnRequests', { waiting, approved, rejected })} <a href="${REQUESTS_PATH}?whose=own&status=all">${t('requestsOfPayment')}</a>`
}
