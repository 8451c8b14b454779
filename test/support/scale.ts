// Tests whose strength depends on counts have three sizes: `npm test` runs the quick one, `npm run test:rest` the
// medium one, and `npm run test:long` the long one.

type Form = 'quick' | 'rest' | 'long'

export const FORM: Form =
  process.env.COWRY_TEST_FORM === 'rest' || process.env.COWRY_TEST_FORM === 'long'
    ? process.env.COWRY_TEST_FORM
    : 'quick'

/** For a test that the quick form leaves out: it repeats another one with other values, or takes long. */
export const LARGER_FORM_ONLY = { skip: FORM === 'quick' ? 'npm run test:rest runs it' : false }

/** The value for the size that runs. */
export function sized<Value>(values: Record<Form, Value>): Value {
  return values[FORM]
}
