import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { BUNDLE_FILE, readPackageBundle } from './bundle.ts'

describe('the committed script of the API reference', () => {
  it('is the script of the installed @scalar/fastify-api-reference; npm run reference writes it', async () => {
    const committed = gunzipSync(await readFile(BUNDLE_FILE))
    assert.ok(committed.equals(await readPackageBundle()))
  })
})
