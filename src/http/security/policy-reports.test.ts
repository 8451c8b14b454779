import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell, read } from '../../../test/support/fake-shell.ts'

const MODERN = { 'content-type': 'application/reports+json' }
const OLD = { 'content-type': 'application/csp-report' }

const modern = (directive: unknown, blockedURL: unknown) => ({
  type: 'csp-violation',
  age: 10,
  url: 'https://pay.example/pay/secretCode',
  body: {
    effectiveDirective: directive,
    blockedURL,
    documentURL: 'https://pay.example/pay/secretCode',
    sample: 'alert("secretCode")',
    originalPolicy: "default-src 'none'",
  },
})

const old = (report: Record<string, unknown>) => ({
  'csp-report': { 'document-uri': 'https://pay.example/pay/secretCode', ...report },
})

function reportShell() {
  const fake = fakeShell()
  const warnings = () => fake.lines.filter(({ level }) => level === 'warn')
  const send = (report: unknown, headers = MODERN) =>
    fake.shell.inject({ method: 'POST', url: '/csp-reports', payload: JSON.stringify(report), headers })
  return { ...fake, warnings, send }
}

describe('a content security policy report', () => {
  it('is logged with its directive and the blocked origin only', async () => {
    const { send, warnings, lines } = reportShell()
    const { http } = await send([
      modern('script-src-elem', 'https://evil.example:8443/x.js?code=secretCode'),
      modern('style-src-attr', 'inline'),
      modern('require-trusted-types-for', 'trusted-types-sink'),
      modern('img-src', 'data'),
    ])
    assert.equal(http, 204)
    assert.deepEqual(
      warnings().map(({ reason }) => reason),
      [
        'script-src-elem kept out https://evil.example:8443',
        'style-src-attr kept out inline',
        'require-trusted-types-for kept out trusted-types-sink',
        'img-src kept out data',
      ],
    )
    assert.doesNotMatch(JSON.stringify(lines), /secretCode/)
  })

  it('is accepted in the older format', async () => {
    const { send, warnings } = reportShell()
    await send(old({ 'violated-directive': "img-src 'self'", 'blocked-uri': 'https://a.example/b?c' }), OLD)
    await send(old({ 'effective-directive': 'font-src', 'blocked-uri': 'chrome-extension://abc/x' }), OLD)
    await send(old({ 'effective-directive': 'script-src', 'blocked-uri': '/pay/secretCode' }), OLD)
    assert.deepEqual(
      warnings().map(({ reason }) => reason),
      [
        'img-src kept out https://a.example',
        'font-src kept out chrome-extension:',
        'script-src kept out something unnamed',
      ],
    )
  })

  it('may be any text, and is then ignored without an error', async () => {
    const { shell, warnings, send } = reportShell()
    for (const payload of [
      '',
      '{',
      'null',
      '[[[]]]',
      '"csp-report"',
      '\u0000',
      '[null,1,{"type":"csp-violation"}]',
    ])
      for (const type of [...Object.values(MODERN), ...Object.values(OLD), 'text/plain', 'image/png']) {
        const headers = { 'content-type': type }
        const response = await shell.inject({ method: 'POST', url: '/csp-reports', payload, headers })
        assert.deepEqual([response.http, response.body], [204, ''], `${type} ${payload}`)
      }
    assert.equal((await shell.inject({ method: 'POST', url: '/csp-reports' })).http, 204)
    for (const report of [
      { type: 'deprecation', body: { effectiveDirective: 'img-src' } },
      modern('two\nlines', 'x'),
      modern({ toString: null }, 'inline'),
    ])
      assert.equal((await send([report])).http, 204)
    assert.deepEqual(warnings(), [])
  })

  it('is refused above 32 KB', async () => {
    const { send } = reportShell()
    const response = await send([modern('img-src', 'x'.repeat(40_000))])
    assert.equal(response.http, 413)
    assert.equal(read(response).error.code, 'payload_too_large')
  })

  it('is logged a few times a minute, whatever the number of reports', async () => {
    const { send, warnings, lines, advance } = reportShell()
    const many = Array.from({ length: 50 }, () => modern('img-src', 'inline'))
    for (let time = 0; time < 10; time += 1) assert.equal((await send(many)).http, 204)
    assert.equal(warnings().length, 5)
    advance(60_000)
    await send(many)
    assert.equal(warnings().length, 10)
    assert.equal(lines.filter(({ level }) => level === 'info').length, 0, 'no line of the request either')
  })
})
