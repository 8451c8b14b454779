// Tests whose strength depends on counts have three sizes: `npm test` runs the quick one, `npm run test:rest` the
// medium one, and `npm run test:long` the long one.

type Form = 'quick' | 'rest' | 'long'

export const FORM: Form =
  process.env.COWRY_TEST_FORM === 'rest' || process.env.COWRY_TEST_FORM === 'long'
    ? process.env.COWRY_TEST_FORM
    : 'quick'

/** For a test with a size. In a file with such tests the larger forms run these alone: npm test has run the others. */
export const HAS_LARGER_FORM = FORM === 'quick' ? {} : { only: true }

/** For a test that the quick form leaves out: it repeats another one with other values, or takes long. */
export const LARGER_FORM_ONLY = FORM === 'quick' ? { skip: 'npm run test:rest runs it' } : HAS_LARGER_FORM

/** All values, or in the quick form every third one, beginning with another one for each index. */
export function shareOf<Value>(values: readonly Value[], index: number): Value[] {
  return values.filter((_, place) => FORM !== 'quick' || (place + index) % QUICK_SHARE === 0)
}

const QUICK_SHARE = 3

/** The value for the size that runs. */
export function sized<Value>(values: Record<Form, Value>): Value {
  return values[FORM]
}
