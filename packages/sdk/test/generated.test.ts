// The generated files belong to the OpenAPI document, and every operation of it is a method.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { operationsOf } from '../generate/operations.ts'
import { renderSdk } from '../generate/render.ts'
import { Cowry } from '../src/index.ts'

const ROOT = new URL('../../../', import.meta.url)
const DOCUMENT = JSON.parse(readFileSync(new URL('openapi.json', ROOT), 'utf8'))

describe('the generated files of the SDK', () => {
  for (const [path, text] of Object.entries(renderSdk(DOCUMENT))) {
    it(`belongs to the current document: ${path}`, () => {
      assert.ok(readFileSync(new URL(path, ROOT), 'utf8') === text, `${path} is stale: run "npm run docs"`)
    })
  }

  it('has a method for every operation, which sends the method and path of the document', async () => {
    const sent: string[] = []
    const fetch = async (url: unknown, { method }: RequestInit = {}) => {
      sent.push(`${method} ${new URL(String(url)).pathname}`)
      return Response.json({ data: [], meta: { nextCursor: null } })
    }
    const cowry = new Cowry({ apiKey: 'key', baseUrl: 'https://pay.example', fetch })
    const operations = operationsOf(DOCUMENT)
    assert.ok(operations.length > 60)
    // A boundary: any method of any resource.
    const resources = cowry as unknown as Record<
      string,
      Record<string, (...values: unknown[]) => Promise<unknown>>
    >
    for (const { resource, verb, pathParameters } of operations)
      await resources[resource]?.[verb]?.(...pathParameters, {})
    assert.deepEqual(
      sent,
      operations.map(({ method, path }) => `${method} ${path.replaceAll(/[{}]/g, '')}`),
    )
  })
})
