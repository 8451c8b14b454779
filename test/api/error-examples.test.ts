// The examples on the page of errors: each that always fails is sent as it stands there, with a valid key.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { API_ERRORS } from '../../src/core/errors.ts'
import type { ExampleRequest } from '../../src/docs-site/error-help/help.ts'
import { ERROR_HELP } from '../../src/docs-site/error-help/page.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const always = Object.entries(ERROR_HELP).filter(([, { example }]) => example.when === undefined)

function send({ send: line, headers = {}, body }: ExampleRequest): Promise<Response> {
  const [method = '', path = ''] = line.split(' ')
  return fetch(`${service.url}${path}`, {
    method,
    headers: {
      'x-api-key': service.demoKey ?? '',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  })
}

describe('the examples on the page of errors', () => {
  it('gets each error from the example that always fails', async () => {
    assert.ok(always.length > 25, `${always.length} examples were found`)
    const got = await Promise.all(
      always.map(async ([, { example }]) => {
        // A boundary: an error envelope.
        const answer = (await (await send(example)).json()) as { error?: { code?: string } }
        return answer.error?.code
      }),
    )
    assert.deepEqual(
      got,
      always.map(([code]) => code),
    )
  })

  it('names a path of the API in every example', async () => {
    const document = await (await fetch(`${service.url}/openapi.json`)).json()
    // A boundary: the document of this service.
    const paths = Object.keys((document as { paths: object }).paths)
    const known = paths.map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
    const unknown = Object.entries(ERROR_HELP)
      .map(([code, { example }]) => [code, example.send.split(' ')[1]?.split('?')[0] ?? ''] as const)
      .filter(([code, path]) => code !== 'route_not_found' && !path.startsWith('/admin/'))
      .filter(([, path]) => !known.some((pattern) => pattern.test(path)))
    assert.deepEqual(unknown, [])
    assert.equal(Object.keys(ERROR_HELP).length, Object.keys(API_ERRORS).length)
  })
})
