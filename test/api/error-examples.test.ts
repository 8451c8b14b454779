// The examples on the page of errors: each that always fails is sent as it stands there, with a valid key. For the others
// the situation that the page names is brought about first.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS, type ApiErrorCode } from '../../src/core/errors.ts'
import type { ErrorHelp, ExampleRequest } from '../../src/docs-site/error-help/help.ts'
import { ERROR_HELP } from '../../src/docs-site/error-help/page.ts'
import { SITUATIONS, type Situation, WITHOUT_SITUATION } from '../support/error-situations.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
// A boundary: Object.entries loses the type of the keys.
const EXAMPLES = Object.entries(ERROR_HELP) as [ApiErrorCode, ErrorHelp][]
const always = EXAMPLES.filter(([, { example }]) => example.when === undefined)
const conditional = EXAMPLES.filter(([, { example }]) => example.when !== undefined)

async function codeOf({ send: line, headers = {}, body }: ExampleRequest, key: string | null) {
  const [method = '', path = ''] = line.split(' ')
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(key !== null && { 'x-api-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  })
  // A boundary: an error envelope.
  return ((await answer.json()) as { error?: { code?: string } }).error?.code
}

/** The example with the values of the reader's own records. */
function inSituation(example: ExampleRequest, { headers, path: [from, to] = ['', ''], body }: Situation) {
  return {
    ...example,
    send: example.send.replace(from, to),
    headers: { ...example.headers, ...headers },
    // A boundary: the examples with a situation of their own have objects as bodies.
    body: body === undefined ? example.body : { ...(example.body as object), ...body },
  }
}

describe('the examples on the page of errors', () => {
  it('gets each error from the example that always fails', async () => {
    assert.ok(always.length > 25, `${always.length} examples were found`)
    const got = await Promise.all(always.map(([, { example }]) => codeOf(example, service.demoKey)))
    assert.deepEqual(
      got,
      always.map(([code]) => code),
    )
  })

  it('has a situation for every other example, or a reason why there is none', () => {
    const codes = conditional.map(([code]) => code)
    assert.deepEqual([...Object.keys(SITUATIONS), ...WITHOUT_SITUATION].toSorted(), codes.toSorted())
  })

  for (const [code, { example }] of conditional) {
    const bringAbout = SITUATIONS[code]
    if (!bringAbout) continue
    it(`gets ${code} if ${example.when}`, async () => {
      const shop = { service, ...(await service.newMerchant()) }
      const situation = await bringAbout(shop)
      const key = situation.key === undefined ? shop.key : situation.key
      assert.equal(await codeOf(inSituation(example, situation), key), code)
    })
  }

  it('names a path of the API in every example', async () => {
    const document = await (await fetch(`${service.url}/openapi.json`)).json()
    // A boundary: the document of this service.
    const paths = Object.keys((document as { paths: object }).paths)
    const known = paths.map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
    const unknown = Object.entries(ERROR_HELP)
      .map(([code, { example }]) => [code, example.send.split(' ')[1]?.split('?')[0] ?? ''] as const)
      .filter(([code, path]) => code !== 'route_not_found' && !/^\/(?:admin|pay)\//.test(path))
      .filter(([, path]) => !known.some((pattern) => pattern.test(path)))
    assert.deepEqual(unknown, [])
    assert.equal(Object.keys(ERROR_HELP).length, Object.keys(API_ERRORS).length)
  })
})
