import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { testService } from '../test/support/service.ts'
import { renderDocs } from './docs.ts'

describe('the generated documentation', () => {
  it('is up to date with the code', async () => {
    for (const [path, text] of Object.entries(renderDocs()))
      assert.equal(
        await readFile(new URL(`../${path}`, import.meta.url), 'utf8'),
        text,
        `${path}: npm run docs`,
      )
  })

  it('describes every operation of a staging service in openapi.json', async (t) => {
    const service = await testService(t)
    const written: Record<string, unknown> = JSON.parse(renderDocs()['openapi.json'] ?? '')
    // A served document contains the URL of its service; the generated one does not.
    const text = JSON.stringify(service.openApi()).replaceAll(service.publicUrl, '')
    const served: Record<string, unknown> = JSON.parse(text)
    assert.deepEqual({ ...served, servers: [] }, { ...written, servers: [] })
  })
})
