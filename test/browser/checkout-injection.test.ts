// Texts of merchants, payers and strangers are shown as text in a real browser, and never become markup, script, style,
// address or header. Injected code would set window.__hit, and an injected header would be X-Hit.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { buildReturnUrl } from '../../src/pages/return-url.ts'
import { initiateBody, newReference } from '../support/builders.ts'
import type { Cleanup } from '../support/database.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { dataUriOf, imageOf, SVG } from '../support/images.ts'
import { createPayer, openCheckout } from '../support/payer.ts'
import { choose, clickButton, type OpenOptions, PAY, payWith, startRig, waitForHeading } from './payers.ts'

// The clock is stopped, so that a screen does not change during the checks.
const rig = await startRig({ after }, { clock: frozenClock() })
const payer = createPayer()
const { service, shop } = rig

const HIT = 'window.__hit=1'

const HOSTILE = {
  'a script': `<script>${HIT}</script>`,
  'an event handler': `"><img src=x onerror="${HIT}">`,
  'an attribute in single quotes': `' autofocus onfocus='${HIT}' x='`,
  'the end of a title': `</title></head><script>${HIT}</script>`,
  'the end of a style': `</style><svg onload=${HIT}>*{display:none}`,
  'the end of a list': `</option></select></textarea></script><iframe srcdoc="<script>${HIT}</script>">`,
  'the braces of templates': `{{constructor.constructor('${HIT}')()}} \${${HIT}} <%= 7*7 %> {amount} #{1}`,
  'plural forms of messages': `{n, plural, other {#}} '{' {merchant} <b>x</b>`,
  'an address that runs': `javascript:${HIT}//`,
  'a comment and entities': `--> <!-- ]]> &lt;i&gt; &#60;i&#62; &quot; &`,
  'the ends of lines, percent-encoded': '%0d%0aX-Hit: 1%0d%0a%0d%0a<b>%00',
  'controls of direction': 'abc\u202edef\u202c \u2066ghi\u2069 \u200fjkl',
  'signs of private use': 'left \ue000 right \uf8ff',
} as const

type Texts = Readonly<Record<string, unknown>>

async function patchBranding(uuid: string, branding: Texts) {
  return service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body: JSON.stringify({ settings: { branding } }),
    headers: { 'content-type': 'application/json' },
  })
}

async function merchantWith(branding: Texts) {
  const merchant = await service.newMerchant()
  const answer = await patchBranding(merchant.uuid, branding)
  assert.equal(answer.http, 200, answer.text)
  return merchant.api
}

/** A payer that fails the test on a dialog, an injected header, and every violation that the harness records. */
async function open(t: Cleanup, options: OpenOptions = {}) {
  const checkout = await rig.open(t, options)
  const injections: string[] = []
  const { page } = checkout
  page.on('dialog', (dialog) => injections.push(`dialog: ${dialog.message()}`))
  page.on('response', (response) => {
    if ('x-hit' in response.headers()) injections.push(`header of ${response.url()}`)
  })
  t.after(async () => assert.deepEqual(injections, []))
  return checkout
}

/** Asserts that nothing ran, and that the document has no foreign scripts, handlers, frames, pictures or forms. */
async function assertHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(`(() => {
    const foreign = [...document.querySelectorAll('*')].filter((one) =>
      one.getAttributeNames().some((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc') ||
      (one.matches('a') && !/^(https?|tel|mailto):$/.test(one.protocol)) ||
      one.matches('iframe, object, embed, base, b:not([data-left]), i, textarea') ||
      (one.matches('script') && !one.src.startsWith(location.origin + '/assets/')) ||
      (one.matches('img') && !one.src.startsWith(location.origin + '/assets/logos/')))
    return [...foreign.map((one) => one.outerHTML), ...('__hit' in window ? ['it ran'] : [])]
  })()`)
  assert.deepEqual(found, [])
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
const withoutDirections = (text: string) => text.replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/** The texts of the parts of the page. One evaluation without waiting, because the page is loaded. */
async function textsOf(page: Page, selector: string): Promise<string[]> {
  const texts: unknown = await page.evaluate(
    `[...document.querySelectorAll('${selector}')].map((one) => one.innerText)`,
  )
  return (texts as string[]).map(plain)
}

/** Among the facts of the page, and in the name above it. */
async function assertShown(page: Page, ...texts: string[]): Promise<void> {
  const facts = await textsOf(page, 'dd, .brand bdi')
  for (const text of texts) assert.ok(facts.includes(plain(text)), `${text} in ${facts.join(' | ')}`)
}

/** Leaves the page before its payment moves, because the page would reload itself at any time. */
async function comeBackAfter<T>(page: Page, url: string, move: () => Promise<T>): Promise<T> {
  await page.goto('about:blank')
  const moved = await move()
  await page.goto(url)
  return moved
}

describe('texts of the merchant in a browser', { concurrency: 3 }, () => {
  for (const [kind, text] of Object.entries(HOSTILE)) {
    it(`shows a merchant’s text as text on every screen: ${kind}`, async (t) => {
      const api = await merchantWith({ displayName: text })
      const name = withoutDirections(text)
      const changes = {
        reference: `${newReference().slice(0, 12)} ${text}`.slice(0, 100).trim(),
        description: `${text}\n\t${text}`.slice(0, 255),
        metadata: { [text.slice(0, 40)]: `SECRET-OF-THE-SHOP ${text}` },
        customer: {
          email: 'amina@example.com',
          // A name that reverses the text direction is rejected.
          firstname: `FIRSTNAME ${name}`,
          lastname: `LASTNAME ${name}`,
        },
        redirectUrl: `${shop}/${text}?${text}#${text}`.replaceAll(/[\s\\]/g, ''),
      }
      const { reference, description, redirectUrl } = changes
      // Direction controls could change how it reads.
      const shownDescription = withoutDirections(description)
      const { page, checkoutUrl, read } = await open(t, { api, changes })
      const assertPage = async (heading: string, ...shown: string[]) => {
        assert.deepEqual(await textsOf(page, 'h1'), [plain(heading)])
        await assertHarmless(page)
        await assertShown(page, name, ...shown)
        assert.doesNotMatch(await page.content(), /SECRET-OF-THE-SHOP|FIRSTNAME|LASTNAME/)
      }

      assert.equal(plain(await page.title()), plain(`Pay KSh 1,250.50 to ${name}`))
      // The template uses one character itself, so headings omit it.
      await assertPage(`Pay KSh 1,250.50 to ${name.replaceAll('\ue000', '')}`, reference, shownDescription)

      await comeBackAfter(page, checkoutUrl, async () =>
        payer.choose(await payer.open(checkoutUrl), 'transfer_success'),
      )
      await assertPage('Send exactly KSh 1,250.50', reference, shownDescription, name)

      const path = `/api/v1/sandbox/payments/${encodeURIComponent(reference)}/complete`
      const completed = await comeBackAfter(page, checkoutUrl, () =>
        api.post(path, { instrument: 'card_success' }),
      )
      assert.equal(completed.http, 200)
      await assertPage('Paid', reference, shownDescription)
      await page.goto(`${checkoutUrl}/receipt`)
      await assertPage('Receipt', reference, shownDescription)
      assert.equal((await read()).description, description, 'stored as it was sent')

      await page.getByRole('link', { name: /^Return to/ }).click()
      await page.waitForURL(`${shop}/**`)
      assert.equal(page.url(), new URL(buildReturnUrl(redirectUrl, reference, 'successful')).href)
      assert.equal(new URL(page.url()).searchParams.get('reference'), reference)
      await assertHarmless(page)

      const prompt = await openCheckout(api, payer, { description })
      await payer.choose(prompt.page, 'mobile_timeout')
      await page.goto(prompt.checkoutUrl)
      await assertPage('Check your phone', shownDescription)
      const [step] = await textsOf(page, '.steps li')
      assert.equal(step, plain(`Open the request from ${name} on your phone.`))

      const card = await openCheckout(api, payer, { description })
      await page.goto((await payer.goToCardPage(card.page)).url)
      const [said = ''] = await textsOf(page, 'main')
      assert.ok(said.includes(plain(text)) && said.includes(plain(description)), said)
      await assertHarmless(page)
    })
  }
})

describe('the branding of a merchant in a browser', { concurrency: 4 }, () => {
  const REFUSED: Record<string, readonly string[]> = {
    accentColor: ['red', '#fff', '#12345g', `#123456;}</style><script>${HIT}</script>`, 'url(//x.example)'],
    supportEmail: [
      `"><script>${HIT}</script>@x.example`,
      'a b@x.example',
      'a@x.example\r\nBcc: b@x.example',
      'javascript:1@x.example',
    ],
    supportPhone: ['+254700<script>', 'javascript:1', '+254 700 123 456;ext=1', '+254700123456\n'],
    supportUrl: [
      `javascript:${HIT}`,
      `data:text/html,<script>${HIT}</script>`,
      'https://x.example/\r\nX-Hit: 1',
      'https://x.example\\@y.example/',
      'https://user@x.example/',
      '//x.example',
    ],
    logo: [
      'https://x.example/logo.png',
      `javascript:${HIT}`,
      dataUriOf(`<script>${HIT}</script>`, 'text/html'),
      dataUriOf(SVG.replace('<circle', `<script>${HIT}</script><circle`)),
      dataUriOf(SVG.replace('<circle', `<circle onload="${HIT}"`)),
      dataUriOf(
        SVG.replace('<circle', `<s:script xmlns:s="http://www.w3.org/2000/svg">${HIT}</s:script><circle`),
      ),
      dataUriOf(SVG.replace('<circle', `<a href="javascript:${HIT}"><text>x</text></a><circle`)),
      dataUriOf(
        SVG.replace(
          '<circle',
          '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject><circle',
        ),
      ),
      dataUriOf(SVG.replace('<circle', '<image href="https://x.example/spy.png"/><circle')),
      dataUriOf(`<!DOCTYPE svg [<!ENTITY x "y">]>${SVG}`),
      dataUriOf(`<html><script>${HIT}</script></html>`),
      `${imageOf('image/png')}"><script>${HIT}</script>`,
    ],
    displayName: ['Shop\r\nX-Hit: 1', 'Shop\u0000', 'Shop\u001b[31m', ' '],
  }

  for (const [field, texts] of Object.entries(REFUSED)) {
    it(`rejects branding when ${field} contains more than its value`, async () => {
      const { uuid } = await service.newMerchant()
      for (const text of texts) {
        const answer = await patchBranding(uuid, { [field]: text })
        const problem = `${answer.http} ${answer.body.error?.details[0]?.field}`
        assert.equal(problem, `400 settings.branding.${field}`, text)
      }
    })
  }

  it('shows accepted branding as text and links', async (t) => {
    const supportUrl = `https://shop.example/help?q='onclick='${HIT}'#<b>`
    const supportEmail = "help?bcc=spy&body='onclick='x'{}|@shop.example"
    const api = await merchantWith({
      supportEmail,
      supportUrl,
      supportPhone: '+254700123456',
      accentColor: '#FF00aa',
      logo: dataUriOf(SVG),
    })
    const { page } = await open(t, { api })
    await assertHarmless(page)
    const email = page.getByRole('link', { name: supportEmail })
    const written = new URL((await email.getAttribute('href')) ?? '')
    assert.equal(written.search, '', 'the name of a mailbox adds no other recipient')
    assert.equal(decodeURIComponent(written.pathname), supportEmail)
    assert.equal(await page.getByRole('link', { name: 'Website' }).getAttribute('href'), supportUrl)
    assert.equal(
      await page.getByRole('link', { name: '+254700123456' }).getAttribute('href'),
      'tel:+254700123456',
    )
  })

  it('serves the logo as an image only, also when it is opened directly', async (t) => {
    const api = await merchantWith({ logo: dataUriOf(SVG) })
    const { page } = await open(t, { api })
    const logo = page.locator('.brand img')
    assert.ok(
      await page.evaluate(`document.querySelector('.brand img').naturalWidth > 0`),
      'the image is shown',
    )
    const answer = await page.goto(`${service.url}${await logo.getAttribute('src')}`)
    const headers = (await answer?.allHeaders()) ?? {}
    assert.equal(headers['content-type'], 'image/svg+xml')
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'.*sandbox/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })
})

describe('texts of payers and strangers in a browser', { concurrency: 4 }, () => {
  it('returns the input of the phone field as text only', async (t) => {
    const { page, checkoutUrl, read } = await open(t)
    for (const [kind, text] of Object.entries(HOSTILE)) {
      await page.goto(checkoutUrl)
      await choose(page, 'mobile_success', text)
      await clickButton(page, PAY)
      await page.getByRole('alert').waitFor()
      assert.equal(await page.getByLabel('Mobile money number').inputValue(), text.slice(0, 40), kind)
      await assertHarmless(page)
    }
    assert.deepEqual((await read()).attempts, [])
  })

  it('ignores injected values in an address: language, problem, choice, network, code', async (t) => {
    const { page, checkoutUrl } = await open(t)
    for (const text of Object.values(HOSTILE)) {
      const hostile = Object.fromEntries(QUERY_NAMES.map((name) => [name, text]))
      await page.goto(`${checkoutUrl}?${new URLSearchParams(hostile)}`)
      assert.equal(await page.evaluate('document.documentElement.lang'), 'en')
      assert.deepEqual(await textsOf(page, '[role=alert]'), [])
      await assertHarmless(page)
    }
    const names = (await page.context().cookies()).map(({ name }) => name)
    assert.deepEqual(names, ['cowry_zone'], 'only the time zone of the device')
  })

  it('ignores injected cookies', async (t) => {
    const { page, checkoutUrl } = await open(t)
    for (const text of Object.values(HOSTILE)) {
      const names = [
        'cowry_lang',
        'cowry_last_lang',
        'cowry_typed',
        'cowry_returned',
        'cowry_zone',
        '__proto__',
      ]
      const value = encodeURIComponent(text)
      await page.context().addCookies(names.map((name) => ({ name, value, url: checkoutUrl })))
      await page.goto(`${checkoutUrl}?problem=phone&reason=missing&channel=mobile_money`)
      assert.equal((await textsOf(page, '[role=alert]')).length, 1)
      assert.equal(await page.evaluate('document.documentElement.lang'), 'en')
      assert.equal(await page.evaluate('document.forms[0].phone.value'), text.slice(0, 40))
      await assertHarmless(page)
    }
  })

  it('ignores injected form fields', async (t) => {
    const { page, checkoutUrl, read } = await open(t)
    const { request } = page.context()
    for (const text of Object.values(HOSTILE)) {
      const form = {
        channel: 'mobile_money',
        phone: '0747123456',
        network: text,
        mobile_money_instrument: text,
      }
      const answer = await request.post(`${checkoutUrl}/attempts`, { form, maxRedirects: 0 })
      assert.equal(answer.status(), 303, await answer.text())
      assert.equal(answer.headers()['x-hit'], undefined)
      const location = new URL(answer.headers().location ?? '', checkoutUrl)
      assert.equal(`${location.origin}${location.pathname}`, checkoutUrl)
      assert.equal(location.searchParams.get('problem'), 'network')
      await page.goto(location.href)
      assert.equal((await textsOf(page, '[role=alert]')).length, 1)
      await assertHarmless(page)
    }
    assert.deepEqual((await read()).attempts, [])
  })
})

const QUERY_NAMES = ['lang', 'problem', 'seconds', 'channel', 'network', 'sent', '__proto__']

describe('request bodies of the merchant with injected text', () => {
  it('rejects a text that could end a header line, or an address that runs a script', async () => {
    const refused: [string, unknown][] = [
      ['redirectUrl', `javascript:${HIT}`],
      ['redirectUrl', `data:text/html,<script>${HIT}</script>`],
      ['redirectUrl', 'https://shop.example/\r\nX-Hit: 1'],
      ['redirectUrl', 'https://shop.example/\tx'],
      ['redirectUrl', '//shop.example/'],
      ['redirectUrl', 'https:\\\\shop.example/'],
      ['redirectUrl', 'https://shop.example@other.example/'],
      ['reference', 'a\r\nX-Hit: 1'],
      ['reference', 'a\u0085b'],
      ['description', 'a\rb'],
      ['description', 'a\u001b[31m'],
    ]
    for (const [field, value] of refused) {
      const answer = await service.api.post(
        '/api/v1/checkout/initiate-payment',
        initiateBody({ [field]: value }),
      )
      assert.equal(`${answer.http} ${answer.body.error?.details[0]?.field}`, `400 ${field}`, String(value))
    }
    const names: [string, unknown][] = [
      ['customer.firstname', { email: 'a@example.com', firstname: 'A\r\nX-Hit: 1', lastname: 'B' }],
      ['customer.email', { email: '"><script>@example.com', firstname: 'A', lastname: 'B' }],
      ['customer.email', { email: 'a@example.com\r\nBcc: b@example.com', firstname: 'A', lastname: 'B' }],
    ]
    for (const [field, customer] of names) {
      const answer = await service.api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer }))
      assert.equal(`${answer.http} ${answer.body.error?.details[0]?.field}`, `400 ${field}`)
    }
  })

  it('never shows the e-mail of a customer, whatever its local part', async (t) => {
    const email = `'onload='${HIT}'{{7*7}}&lt%0d%0aX-Hit@example.com`
    const { page, read } = await open(t, {
      changes: { customer: { email, firstname: 'A', lastname: 'B' }, redirectUrl: undefined },
    })
    await payWith(page, 'card_success')
    await waitForHeading(page, 'Paid')
    assert.doesNotMatch(await page.content(), /@example\.com/)
    await assertHarmless(page)
    assert.equal((await read()).customer.email, email)
  })
})
