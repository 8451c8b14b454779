// Tests that prove something by number come in three forms: the quick one of `npm test`, the one of `npm run test:rest`, and
// the long one of `npm run test:long`.

type Form = 'quick' | 'rest' | 'long'

export const FORM: Form =
  process.env.COWRY_TEST_FORM === 'rest' || process.env.COWRY_TEST_FORM === 'long'
    ? process.env.COWRY_TEST_FORM
    : 'quick'

/** The value for the form that runs. */
export function sized<Value>(values: Record<Form, Value>): Value {
  return values[FORM]
}
