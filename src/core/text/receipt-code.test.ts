import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { uuidV7 } from '../ids.ts'
import { readReceiptCode, receiptCodeOf } from './receipt-code.ts'

const EXAMPLE = '2WNM-9JV6-5HV2'

const paymentIds = fc
  .tuple(
    fc.date({ min: new Date('2024-01-01'), max: new Date('2058-01-01'), noInvalidDate: true }),
    fc.uint8Array({ minLength: 10, maxLength: 10 }),
  )
  .map(([time, random]) => uuidV7(time, random))

describe('the number of a receipt', () => {
  it('has three groups of four characters, none of which is easily confused with another', () => {
    fc.assert(
      fc.property(paymentIds, (id) => {
        assert.match(receiptCodeOf(id), /^[2-9AC-HJKMNPQRT-Z]{4}(-[2-9AC-HJKMNPQRT-Z]{4}){2}$/)
      }),
    )
    assert.equal(receiptCodeOf('01a1e75a-7f67-7c75-a3f9-93262afd2d73'), EXAMPLE)
  })

  it('leads back to the payment, however it is written', () => {
    fc.assert(
      fc.property(paymentIds, (id) => {
        const code = receiptCodeOf(id)
        for (const written of [
          code,
          code.toLowerCase(),
          code.replaceAll('-', ' '),
          code.replaceAll('-', ''),
        ]) {
          const { first = '', last = '', tail = '' } = readReceiptCode(written) ?? {}
          assert.ok(first <= id && id <= last && id.endsWith(tail), `${written} of ${id}`)
        }
      }),
    )
  })

  it('is refused with one wrong character or two that are swapped', () => {
    const characters = Array.from(EXAMPLE.replaceAll('-', ''))
    for (const [index, right] of characters.entries()) {
      for (const wrong of '23456789ACDEFGHJKMNPQRTUVWXYZ')
        if (wrong !== right) assert.equal(readReceiptCode(characters.with(index, wrong).join('')), undefined)
      const next = characters[index + 1]
      if (next !== undefined && next !== right)
        assert.equal(
          readReceiptCode(
            characters
              .with(index, next)
              .with(index + 1, right)
              .join(''),
          ),
          undefined,
        )
    }
  })

  it('is not seen in other texts', () => {
    for (const text of ['', 'ORDER-1042', '01a1e75a-7f67-7c75-a3f9-93262afd2d73', 'ZZZZ-ZZZZ-ZZZZ'])
      assert.equal(readReceiptCode(text), undefined, text)
  })
})
