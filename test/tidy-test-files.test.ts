// The lists of test files, and the marks that leave tests out of one of the two commands.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ALONE,
  BROWSER_GROUPS,
  DATABASE_TESTS,
  EVERY_TEST,
  findTestFiles,
  HAS_BROWSER,
  LARGER_FORMS,
  REST_ONLY,
  SHARED_STATE_TESTS,
} from './support/test-files.ts'
import { importsOf, isTest, readTree } from './tidy/tree.ts'

const SOURCES = readTree().filter(({ path }) => path.endsWith('.ts'))
const TESTS = SOURCES.filter(isTest)

describe('npm run test:rest and npm test', () => {
  it('run every file with a larger form', () => {
    const sized = SOURCES.flatMap(importsOf)
      .filter(({ from, to }) => to === 'test/support/scale.ts' && from !== 'test/support/run-group.ts')
      // The conformance suite is called by one file for each gateway.
      .map(({ from }) =>
        from.replace(/^test\/gateways\/conformance\/\w+\.ts$/, 'test/gateways/stripe/stripe.test.ts'),
      )
      .filter((path) => HAS_BROWSER || !path.startsWith('test/browser/'))
    assert.ok(sized.length > 10, 'the files were found')
    const larger = findTestFiles([...REST_ONLY, ...LARGER_FORMS])
    assert.deepEqual(
      sized.filter((path) => !larger.includes(path)),
      [],
    )
  })

  it('have no marks in the files that only npm run test:rest runs', () => {
    const files = findTestFiles(REST_ONLY)
    const marked = SOURCES.filter(({ path }) => files.includes(path))
      .flatMap(importsOf)
      .filter(({ names }) => names.some((name) => /LARGER_FORM/.test(name)))
    // In a file with such marks the larger forms run these tests alone.
    assert.deepEqual(
      marked.map(({ from }) => from),
      [],
    )
  })

  it('have a test file for every name in their lists', () => {
    for (const patterns of [EVERY_TEST, REST_ONLY, LARGER_FORMS, DATABASE_TESTS, SHARED_STATE_TESTS])
      assert.ok(findTestFiles(patterns).length > 0)
    assert.throws(
      () => findTestFiles(['test/{plans,tides}.test.ts']),
      /no test file matches test\/tides\.test\.ts/,
    )
    for (const pattern of [...ALONE, ...BROWSER_GROUPS])
      assert.ok(
        TESTS.some(({ path }) => pattern.test(path)),
        String(pattern),
      )
  })
})
