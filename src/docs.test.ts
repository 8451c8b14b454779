import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { testService } from '../test/support/service.ts'
import { renderDocs } from './docs.ts'

describe('the generated documentation', () => {
  it('is what the code says today', async () => {
    for (const [path, text] of Object.entries(renderDocs()))
      assert.equal(
        await readFile(new URL(`../${path}`, import.meta.url), 'utf8'),
        text,
        `${path}: npm run docs`,
      )
  })

  it('describes every operation that a staging service answers', async (t) => {
    const service = await testService(t)
    const written: Record<string, unknown> = JSON.parse(renderDocs()['openapi.json'] ?? '')
    // A served document names its own address, which the written one leaves out.
    const text = JSON.stringify(service.openApi()).replaceAll(service.publicUrl, '')
    const served: Record<string, unknown> = JSON.parse(text)
    assert.deepEqual({ ...served, servers: [] }, { ...written, servers: [] })
  })
})
