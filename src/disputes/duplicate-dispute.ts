// A chargeback about money that came twice. It is not sent back by itself while the payer's bank may take it: won, the
// automatic refund goes on; lost, the money has gone back that way. Where a refund was begun before, a person has to look.

import type { DisputeReport } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { CaseKind } from './case-kinds.ts'
import { type CaseRow, listCasesOfAttempt } from './case-queries.ts'
import { bookDuplicateGone, openCase, resolveCase } from './cases.ts'
import { lockDuplicate, releaseDuplicate, takeDuplicate } from './duplicate-queries.ts'

/** Writes down what the gateway tells; told again it changes nothing. */
export async function noteDuplicateDisputes(
  app: PaymentsApp,
  attempt: AttemptRow,
  reports: readonly DisputeReport[],
): Promise<void> {
  const news = await app.db.transaction(async (tx) => {
    await lockDuplicate(tx, attempt.merchantId, attempt.id)
    const cases = await listCasesOfAttempt(tx, attempt.merchantId, attempt.id)
    const known = cases.find(({ kind }) => kind === 'duplicate_disputed')
    return note(app, tx, attempt, reports, known)
  })
  if (!news) return
  const { merchantId, paymentId, id: attemptId, gateway } = attempt
  const facts = { merchantId, paymentId, attemptId, gateway, reason: news }
  app.log.error('a chargeback about money that came twice needs a person', facts)
}

/** The kind of the case that is new, if one is. */
async function note(
  app: PaymentsApp,
  tx: Tx,
  attempt: AttemptRow,
  reports: readonly DisputeReport[],
  known: CaseRow | undefined,
): Promise<CaseKind | undefined> {
  const isHeld = known !== undefined && known.closedAt === null
  const told = (status: DisputeReport['status']) => reports.filter((report) => report.status === status)
  if (told('open').length > 0) return isHeld ? undefined : hold(app, tx, attempt, known)
  const lost = told('lost')
  if (lost.length === 0) {
    if (isHeld) await giveFree(app, tx, attempt)
    return undefined
  }
  const isAll = lost.some(({ amount }) => amount.minor === attempt.paidMinor)
  const wasWaiting = isHeld || (await takeDuplicate(tx, attempt.merchantId, attempt.id))
  if (wasWaiting && isAll) return endLost(app, tx, attempt)
  return isHeld || !known ? open(app, tx, attempt, 'duplicate_disputed_after_refund') : undefined
}

/** What waits to be sent back waits on; what was sent already is claimed twice. */
async function hold(
  app: PaymentsApp,
  tx: Tx,
  attempt: AttemptRow,
  known: CaseRow | undefined,
): Promise<CaseKind | undefined> {
  if (await takeDuplicate(tx, attempt.merchantId, attempt.id))
    return open(app, tx, attempt, 'duplicate_disputed')
  return known ? undefined : open(app, tx, attempt, 'duplicate_disputed_after_refund')
}

async function giveFree(app: PaymentsApp, tx: Tx, { merchantId, id: attemptId }: AttemptRow): Promise<void> {
  await resolveCase(app, tx, { merchantId, attemptId, kind: 'duplicate_disputed' }, 'The chargeback was won.')
  await releaseDuplicate(tx, merchantId, attemptId, app.clock.now())
}

async function endLost(app: PaymentsApp, tx: Tx, attempt: AttemptRow): Promise<undefined> {
  const { merchantId, id: attemptId } = attempt
  await open(app, tx, attempt, 'duplicate_disputed')
  const kind = 'duplicate_disputed'
  await resolveCase(
    app,
    tx,
    { merchantId, attemptId, kind },
    'The bank has sent the money back to the payer.',
  )
  await bookDuplicateGone(app, tx, attempt)
}

async function open(
  app: PaymentsApp,
  tx: Tx,
  { merchantId, paymentId, id: attemptId }: AttemptRow,
  kind: CaseKind,
): Promise<CaseKind | undefined> {
  const reopens = kind === 'duplicate_disputed'
  const isNews = await openCase(app, tx, { merchantId, kind, paymentId, attemptId }, { reopens })
  return isNews ? kind : undefined
}
