// Who may see and do what in the dashboard: every screen as every role, and with the records of another merchant.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, describe, it } from 'node:test'
import { ROLES, type Role } from '../../src/people/roles.ts'
import { payWith } from '../support/builders.ts'
import { saveOwnAccount, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import {
  addressOf,
  crawl,
  type Found,
  force,
  SCREEN_NAMES,
  type ScreenName,
  shownPages,
} from '../support/dashboard-crawl.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const merchant = await service.newMerchant()
await makeOneOfEverything(merchant.api, 'Owned')
// The queue of transfers shows what waits for a confirmation.
const [transfer] = (await merchant.api.get('/api/v1/p2p/payments')).body.data
await merchant.api.post(`/api/v1/p2p/payments/${transfer.uuid}/mark-paid`, {})
await saveOwnAccount(service, merchant.uuid)
const lines = 'type,key,reference,amount,currency,fee,status\r\npayment,unknown,,10.00,KES,,settled\r\n'
await service.admin.post('/admin/v1/reconciliations', {
  ...{ gateway: 'paystack', merchant: merchant.uuid, content: Buffer.from(lines).toString('base64') },
})
const owner = await signInAs(service, merchant.uuid)
await signInAs(service, merchant.uuid, 'viewer')
await owner.submit('/app/team', '/app/team/invite', { email: 'invited@example.com', role: 'viewer' })
// The owner approves what another person asks for.
const support = await signInAs(service, merchant.uuid, 'support')
const paid = `/app/payments/${(await payWith(merchant.api, 'card_success')).uuid}`
await support.submit(paid, `${paid}/refund`, { amount: '1', reason: 'Late' })
await saveView(owner)
// The request log is written after the responses.
await eventually(
  () => owner.get('/app/developers/requests'),
  ({ text }) => text.includes('href="/app/developers/requests/'),
  20_000,
)
const found = await crawl(owner)
const documented = await readDocumentedRoles()

/** The roles that may use each screen, as docs/generated/roles.md says. */
async function readDocumentedRoles(): Promise<Map<ScreenName, Role[]>> {
  const text = await readFile(new URL('../../docs/generated/roles.md', import.meta.url), 'utf8')
  const rows = text.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)
  return new Map(
    [...rows].map(([, name = '', cells = '']) => [
      name,
      ROLES.filter((_, index) => cells.split(' | ')[index] === 'yes'),
    ]),
  )
}

/** Every person changes their own views. */
function saveView(person: Visitor) {
  return person.submit('/app/payments?status=failed', '/app/views', { name: 'Failed' })
}

const addressFor = (name: ScreenName) => {
  const address = addressOf(found, name)
  assert.ok(address, `no link or form leads to ${name}`)
  return address
}

/** What the text of a page shows that does nothing without JavaScript. */
function deadControls(text: string): string[] {
  const forms = [...text.matchAll(/<form\b[^>]*>(.*?)<\/form>/gs)]
  const withoutSubmit = forms.filter(([, inside = '']) => !/<button(?![^>]*type="button")/.test(inside))
  const outside = text.replaceAll(/<form\b[^>]*>.*?<\/form>/gs, '')
  // The menu of phones is a checkbox, which its style reads.
  const loose = [...outside.matchAll(/<(?:input(?! id="menu-open")|select|textarea|button)\b[^>]*>/g)]
  const buttons = [...text.matchAll(/<button[^>]*type="button"[^>]*>/g)]
  const handlers = [...text.matchAll(/<[^>]* (?:on\w+=|href="(?:#"|javascript:))[^>]*>/g)]
  return [...withoutSubmit, ...loose, ...buttons, ...handlers]
    .map(([tag]) => tag)
    .filter((tag) => !/ hidden\b/.test(tag))
}

describe('screens of the dashboard', () => {
  it('shows no control that does nothing without JavaScript', async () => {
    const operator = await signInAsOperator(service)
    const dead: string[] = []
    for (const [person, pages] of [
      [owner, shownPages(found)],
      [operator, shownPages(await crawl(operator, '/ops'))],
    ] as const)
      for (const page of pages.flat()) {
        const { text } = await person.get(page)
        dead.push(...deadControls(text).map((tag) => `${page}: ${tag}`))
      }
    assert.deepEqual(dead, [])
  })

  it('names every link of home by where it leads', async () => {
    const { text } = await owner.get('/app')
    const [, main = ''] = text.split('<main')
    const links = [...main.matchAll(/<li>.*?<a href="([^"]*)">(.*?)<\/a>/gs)].map(([, address, name]) => ({
      address,
      name,
    }))
    assert.ok(links.length > 3)
    const addresses = Map.groupBy(links, ({ name }) => name)
    for (const [name, same] of addresses)
      assert.equal(new Set(same.map(({ address }) => address)).size, 1, name)
    assert.ok(links.some(({ name }) => name === 'Cases'))
  })

  it('has a link to every screen', () => {
    const names = SCREEN_NAMES.filter((name) => name.startsWith('GET'))
    assert.deepEqual(
      names.filter((name) => !found.pages.has(name)),
      [],
    )
  })

  it('answers 404 to another merchant for every id in every address', async () => {
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    // The names of gateways are the same for all merchants.
    const names = SCREEN_NAMES.filter((name) => name.includes('{') && !name.includes('{gateway}'))
    assert.ok(names.length > 0)
    for (const name of names) {
      const address = addressFor(name)
      const answer = await (name.startsWith('GET') ? stranger.get(address) : force(stranger, address))
      assert.equal(answer.http, 404, `${name} ${address}: ${answer.text}`)
    }
  })
})

async function crawlAs(role: Role): Promise<Found> {
  const person = await signInAs(service, merchant.uuid, role)
  await saveView(person)
  return crawl(person)
}

describe('roles in the dashboard', () => {
  for (const role of ROLES) {
    it(`refuses ${role} the screens and forms of other roles`, async () => {
      const person = await signInAs(service, merchant.uuid, role)
      for (const name of SCREEN_NAMES.filter((one) => !documented.get(one)?.includes(role))) {
        const address = addressFor(name)
        const { http } = await (name.startsWith('POST') ? force(person, address) : person.get(address))
        assert.equal(http, 403, `${role} ${name}`)
      }
    })

    it(`shows ${role} the links and forms of the role, and no others`, async () => {
      const seen = role === 'owner' ? found : await crawlAs(role)
      for (const name of SCREEN_NAMES) {
        const isAllowed = documented.get(name)?.includes(role)
        if (name.startsWith('POST'))
          assert.equal(
            seen.forms.has(name),
            isAllowed === true && found.forms.has(name),
            `${role} sees the form of ${name}`,
          )
        else assert.equal(seen.pages.has(name), isAllowed, `a link of ${role} to ${name}`)
      }
    })
  }
})

/** A value that the API refuses, by the kind of the field. */
const WRONG: Readonly<Record<string, string>> = { date: '2026-02-31', 'datetime-local': 'x', color: 'x' }

/** The fields of a form that a person fills in, each with a wrong value. */
function wrongFields(page: string, action: string): Record<string, string> {
  const [, rest = ''] = page.split(`method="post" action="${action}">`)
  const [inside = ''] = rest.split('</form>')
  const names = inside.matchAll(
    /<(?:input id|textarea [^>]*?id|select id)="[^"]*" name="([^"]*)"(?: type="([^"]*)")?/g,
  )
  return Object.fromEntries(
    [...names]
      .filter(([, , type]) => type !== 'file')
      .map(([, name = '', type = '']) => [name, WRONG[type] ?? 'x'.repeat(name === 'text' ? 2_500 : 600)]),
  )
}

/** The labels of the fields of a page. */
const labelsOn = (page: string) =>
  [...page.matchAll(/<(?:label|legend)[^>]*>(.*?)<\/(?:label|legend)>/gs)].map(([, label = '']) => label)

describe('forms of the dashboard', () => {
  // What their errors are about has one field, and src/people has its own sentences about it.
  const OWN_SENTENCES = /^POST \/app\/(?:team|cases)\//

  it('names the field that was refused by its label, in the language of the person', async (t) => {
    owner.cookies.set('cowry_app_language', 'fr')
    t.after(() => owner.cookies.delete('cowry_app_language'))
    const unnamed: string[] = []
    let refusals = 0
    for (const [name, [form]] of found.forms) {
      const { text } = await owner.get(form?.page ?? '')
      const fields = form && wrongFields(text, form.action)
      if (!form || !fields || OWN_SENTENCES.test(name) || Object.keys(fields).length === 0) continue
      const isUpload = text.includes(`"multipart/form-data" method="post" action="${form.action}"`)
      const answer = await (isUpload
        ? owner.upload(form.page, form.action, fields, {})
        : owner.submit(form.page, form.action, fields))
      const [, alert = ''] = /role="alert">(.*?)<\/div>/s.exec(answer.text) ?? []
      const labels = labelsOn(answer.text)
      const named = [...alert.matchAll(/<li><b>(.*?):<\/b>/g)].map(([, label = '']) => label)
      const others = named.filter(
        (one) => !labels.includes(one) && !labels.includes(one.split(' · ').at(-1) ?? ''),
      )
      const codes = [...alert.matchAll(/\b[a-z]+[A-Z]\w*\b/g)].filter(([code]) => !labels.includes(code))
      if (named.length === 0 || others.length + codes.length > 0) unnamed.push(`${name}: ${alert}`)
      refusals += named.length
    }
    assert.deepEqual(unnamed, [])
    assert.ok(refusals > 30, `${refusals} fields were refused`)
  })
})
