import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
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

  it('has OpenAPI documents of at most 355 KB, and 40 KB compressed', () => {
    for (const name of ['openapi.json', 'openapi-admin.json']) {
      const text = renderDocs()[name] ?? ''
      // A KB is 1,024 bytes here, as in the tools that show the size of a file.
      assert.ok(Buffer.byteLength(text) <= 355 * 1_024, `${name}: ${Buffer.byteLength(text)} bytes`)
      const compressed = brotliCompressSync(JSON.stringify(JSON.parse(text))).length
      assert.ok(compressed <= 40 * 1_024, `${name}: ${compressed} bytes compressed`)
    }
  })

  it('describes every operation of a staging service in openapi.json and openapi-admin.json', async (t) => {
    const service = await testService(t)
    const documents = {
      'openapi.json': service.openApi(),
      'openapi-admin.json': (await service.admin.get('/admin/v1/openapi.json')).body,
    }
    for (const [name, document] of Object.entries(documents)) {
      const written: Record<string, unknown> = JSON.parse(renderDocs()[name] ?? '')
      // A served document contains the URL of its service; the generated one does not.
      const text = JSON.stringify(document).replaceAll(service.publicUrl, '')
      const served: Record<string, unknown> = JSON.parse(text)
      assert.deepEqual({ ...served, servers: [] }, { ...written, servers: [] })
    }
  })
})
