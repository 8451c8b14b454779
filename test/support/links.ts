// Payment links, and payers without JavaScript who pay at them.

import assert from 'node:assert/strict'
import type { Api } from './api.ts'
import { createPayer, type Page, type Payer } from './payer.ts'
import type { TestService } from './service.ts'

export const VISITOR = { firstname: 'Amina', lastname: 'Odhiambo', email: 'amina@example.com' }

export function linkBody(changes: Record<string, unknown> = {}) {
  return { title: 'A ticket', description: 'Saturday at ten', amount: 1250.5, currency: 'KES', ...changes }
}

export async function makeLink(api: Api, changes: Record<string, unknown> = {}) {
  const made = await api.post('/api/v1/payment-links', linkBody(changes))
  assert.equal(made.http, 201, made.text)
  return made.body.data
}

/** Submits the form of a link without following its redirect. */
export async function fillIn(payer: Payer, page: Page, fields: Record<string, string> = {}): Promise<Page> {
  return payer.postForm(page, new URL(page.url).pathname, { ...VISITOR, ...fields })
}

/**
 * A payment that was started at the link. It is paid if an instrument is passed; otherwise the payer stays on the
 * provider's page.
 */
export async function payAt(
  { api }: Pick<TestService, 'api'>,
  link: { url: string; uuid: string },
  instrument: string | null,
  fields: Record<string, string> = {},
) {
  const payer = createPayer()
  const { location } = await fillIn(payer, await payer.open(link.url), fields)
  assert.match(location ?? '', /\/pay\/[0-9A-Za-z]{43}/)
  const checkoutUrl = location ?? ''
  const [newest] = (await api.get(`/api/v1/payment-links/${link.uuid}/payments?limit=1`)).body.data
  const { uuid, reference } = newest
  const read = async () => (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
  if (instrument === null) await payer.choose(await payer.open(checkoutUrl), 'card')
  else {
    const played = await api.post(`/api/v1/sandbox/payments/${reference}/complete`, { instrument })
    assert.equal(played.http, 200, played.text)
  }
  return { uuid: String(uuid), reference: String(reference), checkoutUrl, payer, read }
}
