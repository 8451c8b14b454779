import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isEmail, isPersonName } from './formats.ts'

describe('an e-mail address', () => {
  it('may be in any script', () => {
    for (const email of [
      'ama@example.com',
      'a.b+c_d@shop.co.ke',
      "o'neil@example.com",
      'አበበ@ምሳሌ.ኢትዮጵያ',
      'ama@xn--e1afmkfd.xn--p1ai',
      'उपयोगकर्ता@उदाहरण.भारत',
      `${'x'.repeat(242)}@example.com`,
    ])
      assert.ok(isEmail(email), email)
  })

  it('is not one with characters that are invisible or that turn the direction of writing', () => {
    for (const hidden of [
      '\u202e',
      '\u200b',
      '\u200d',
      '\u2066',
      '\ufeff',
      '\u00ad',
      '\u2800',
      '\u0000',
      '\u{e0041}',
    ])
      for (const email of [`am${hidden}a@example.com`, `ama@exam${hidden}ple.com`])
        assert.equal(isEmail(email), false, JSON.stringify(email))
  })

  it('is not one without a name, a domain of two labels, or with an empty label', () => {
    for (const email of [
      ...['', 'ama', '@example.com', 'ama@', 'ama@example', 'ama@.com', 'ama@b..com', 'ama@b.com.', 'a@b.c'],
      ...[
        'a..b@c.com',
        '.a@b.com',
        'a.@b.com',
        'a b@c.com',
        'a@b@c.com',
        'a@-b.com',
        'a@b-.com',
        'a@1.2.3.4',
      ],
      ...['"a"@b.com', 'a,b@c.com', `${'x'.repeat(250)}@b.com`, `a@${'b'.repeat(64)}.com`],
    ])
      assert.equal(isEmail(email), false, email)
  })
})

describe('the name of a person', () => {
  it('has a visible character and none that turns the direction of writing', () => {
    for (const name of ['A', 'አበበ', 'محمد', 'Nguyễn', "N'Golo", 'x'.repeat(100)])
      assert.ok(isPersonName(name), name)
    for (const name of ['', '   ', '\u200b', '\u2800', 'a\u202eb', 'a\u2066b', 'x'.repeat(101)])
      assert.equal(isPersonName(name), false, JSON.stringify(name))
  })
})
