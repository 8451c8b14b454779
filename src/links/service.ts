// Payment links as the merchant manages them: create, read, list, change, deactivate. Payers open a link by its address and
// make ordinary payments; the link limits and counts them.

import { requireAllowedReturn } from '../checkout/return-url.ts'
import { ApiError, errorFromIssues, type Issue, requireFound } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Merchant } from '../core/merchant.ts'
import { currentCell } from '../kit/cells/cells.ts'
import { cellOfCode, withCell } from '../kit/cells/values.ts'
import { createIdempotently, type IdempotentResult, isReplay } from '../kit/db/idempotency.ts'
import { type ListQuery, type Page, paginate, substringPattern } from '../kit/db/pagination.ts'
import type { LinksApp } from './app.ts'
import { type ChangeLink, type CreateLink, toChangedTerms, toNewLink } from './input.ts'
import type { LinkRow, LinkStatus, LinkTerms, LinkUsage, NewLink } from './link.ts'
import { emitLinkEvents } from './link-events.ts'
import { countLinks, type LinkFilter, listLinkRows } from './list-queries.ts'
import { findLink, findMerchantBySlug, insertLink, lockLink, markDeactivated, updateLink } from './queries.ts'
import { requireRoute } from './require-route.ts'

const CREATE_LINK = 'POST /api/v1/payment-links'

// 88 random bits cannot be guessed, and the address still fits on a line of a receipt.
const SLUG_BYTES = 11
const SLUG_CHARACTERS = 15

/** The cell of the link with this slug. */
export const cellOfSlug = (slug: string) => cellOfCode(slug, SLUG_CHARACTERS)

/** The merchant of the link with this slug. */
export const findLinkMerchant = findMerchantBySlug

export async function createLink(
  app: LinksApp,
  merchant: Merchant,
  body: CreateLink,
  idempotencyKey: string | undefined,
): Promise<IdempotentResult<LinkRow>> {
  const terms = toNewLink(body)
  const home = body.country === undefined ? await app.gateways.homeCountry(merchant.id, terms.currency) : null
  const newLink = { ...terms, country: home ?? terms.country }
  const validationError = await validationErrorOf(app, merchant, newLink)
  const claim = { merchantId: merchant.id, key: idempotencyKey, operation: CREATE_LINK, input: body }
  return createIdempotently(app, claim, {
    make: async (tx, id) => {
      // Thrown only for a new link: a replay must succeed, even if routes or settings have changed since the first request.
      if (validationError) throw validationError
      const slug = withCell(base62(app.random.bytes(SLUG_BYTES), SLUG_CHARACTERS), currentCell())
      const createdAt = app.clock.now()
      await insertLink(tx, { ...newLink, merchantId: merchant.id, id, slug, createdAt })
      return requireLinkRow(await findLink(tx, merchant.id, createdAt, id))
    },
    find: (id) => findLink(app.db, merchant.id, app.clock.now(), id),
  })
}

async function validationErrorOf(
  app: LinksApp,
  merchant: Merchant,
  link: LinkTerms & Pick<NewLink, 'currency' | 'country' | 'amountMinor'>,
): Promise<ApiError | undefined> {
  try {
    requireFuture(app, link.expiresAt)
    await requireAllowedReturn(app, merchant, link.redirectUrl)
    await requireRoute(app, merchant.id, link)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

function requireFuture({ clock }: LinksApp, expiresAt: Date | null): void {
  if (expiresAt === null || expiresAt > clock.now()) return
  const message = 'expiresAt must be in the future; to end a link now, deactivate it.'
  throw issueError({ field: 'expiresAt', code: 'out_of_range', message })
}

const issueError = (issue: Issue) => errorFromIssues([issue])

export async function requireLink(app: LinksApp, merchant: Merchant, id: string): Promise<LinkRow> {
  return requireLinkRow(await findLink(app.db, merchant.id, app.clock.now(), id))
}

function requireLinkRow(link: LinkRow | undefined): LinkRow {
  return requireFound(link, 'payment_link_not_found')
}

interface LinksQuery extends ListQuery {
  status?: LinkStatus
  currency?: string
  usage?: LinkUsage
  search?: string
}

export async function listLinks(
  app: LinksApp,
  merchant: Merchant,
  query: LinksQuery,
): Promise<Page<LinkRow>> {
  const { status = null, currency = null, usage = null, search } = query
  const scope = `links:${JSON.stringify([merchant.id, status, currency, usage, search])}`
  const pattern = search === undefined ? null : substringPattern(search.normalize('NFC').toLowerCase())
  const now = app.clock.now()
  return paginate(app.cursors, scope, query, async (window) => {
    const { createdFrom, createdTo } = window
    const filter: LinkFilter = { status, currency, usage, pattern, createdFrom, createdTo }
    const [rows, counted] = await Promise.all([
      listLinkRows(app.db, merchant.id, now, filter, { ...window, limit: window.limit + 1 }),
      countLinks(app.db, merchant.id, now, filter),
    ])
    return { rows, counted }
  })
}

export async function changeLink(
  app: LinksApp,
  merchant: Merchant,
  id: string,
  change: ChangeLink,
): Promise<LinkRow> {
  if (change.expiresAt) requireFuture(app, new Date(change.expiresAt))
  await requireAllowedReturn(app, merchant, change.redirectUrl ?? null)
  return app.db.transaction(async (tx) => {
    await lockLink(tx, merchant.id, id)
    const link = requireLinkRow(await findLink(tx, merchant.id, app.clock.now(), id))
    const terms = toChangedTerms(link, change)
    requireCapacityFor(link, terms)
    // A new expiry must be reported again.
    const expiredAt = change.expiresAt === undefined ? link.expiredAt : null
    await updateLink(tx, link, { ...terms, expiredAt })
    await emitLinkEvents(app, tx, merchant.id, id)
    return requireLinkRow(await findLink(tx, merchant.id, app.clock.now(), id))
  })
}

/** Payments at a gateway have reserved their slots and may still succeed. */
function requireCapacityFor({ paymentsCount, slotsReserved }: LinkRow, { maxPayments }: LinkTerms): void {
  if (maxPayments === null || maxPayments >= slotsReserved) return
  const message = `maxPayments cannot be below what is paid or being paid: ${paymentsCount} paid, ${slotsReserved - paymentsCount} at this moment.`
  throw new ApiError('invalid_state', {
    message,
    details: [{ field: 'maxPayments', code: 'out_of_range', message }],
  })
}

const DEACTIVATE_LINK = 'POST /api/v1/payment-links/{uuid}/deactivate'

/** Idempotent. No new payment gets a slot; a payment at a gateway may finish. */
export async function deactivateLink(
  app: LinksApp,
  merchant: Merchant,
  id: string,
  key: string | undefined,
): Promise<IdempotentResult<LinkRow>> {
  const claim = { merchantId: merchant.id, key, operation: DEACTIVATE_LINK, input: { id } }
  return app.db.transaction(async (tx) => {
    const replayed = await isReplay(app, tx, claim)
    if (!replayed) await markDeactivated(tx, merchant.id, id, app.clock.now())
    return { record: requireLinkRow(await findLink(tx, merchant.id, app.clock.now(), id)), replayed }
  })
}
