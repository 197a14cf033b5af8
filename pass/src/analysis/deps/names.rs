//! Names and types of the source for the sets, as far as debug info has them.

use crate::llvm::Function as LlvmFunction;
use crate::llvm::memory::Value;
use crate::llvm::types::{Described, SourceType, Variable};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::{Deps, Field, Param, Type};

/// How many types are kept; the rest are only names.
const TYPES: usize = 50_000;

/// Adds names and types to sets. `functions` are those of the sets, in order; `globals` are found by the linker's name.
pub fn add(deps: &mut Deps, functions: &[LlvmFunction], globals: &[Value]) {
    let mut types = Types { all: Vec::new(), known: HashMap::default() };
    for (function, llvm) in deps.functions.iter_mut().zip(functions) {
        for (i, param) in function.params.iter_mut().enumerate() {
            if let Some(variable) = llvm.param_variable(i as u32) {
                types.name_param(param, variable);
            }
        }
    }
    let by_name: HashMap<String, Value> = globals.iter().map(|g| (g.name(), *g)).collect();
    for global in &mut deps.globals {
        if let Some(variable) = by_name.get(&global.name).and_then(|g| g.source_variable()) {
            global.ty = variable.ty.map(|t| types.number(t));
            global.source_name = variable.name;
        }
    }
    deps.types = types.all;
}

struct Types {
    all: Vec<Type>,
    known: HashMap<SourceType, u32>,
}

impl Types {
    fn name_param(&mut self, param: &mut Param, variable: Variable) {
        param.name = variable.name;
        let Some(ty) = variable.ty.map(|t| self.number(t)) else { return };
        param.ty = Some(ty);
        if variable.indirect {
            param.by_value |= param.pointer;
            return;
        }
        // A struct that is passed in parts: the part has the name of the field.
        if let Type::Struct { fields, .. } = &self.all[ty as usize]
            && !param.by_value
        {
            match fields.iter().rev().find(|f| f.offset <= variable.offset) {
                Some(field) => {
                    param.name += &format!(".{}", field.name);
                    param.ty = Some(field.ty);
                }
                None => param.ty = None,
            }
        }
    }

    /// The number of a type; types that are named in it come along.
    fn number(&mut self, ty: SourceType) -> u32 {
        if let Some(number) = self.known.get(&ty) {
            return *number;
        }
        let described = ty.describe();
        if let Described::Same(name, base) = described {
            let number = self.number(base);
            self.known.insert(ty, number);
            // `typedef struct { ... } name;`
            if let Type::Struct { name: own, .. } | Type::Plain { name: own, .. } = &mut self.all[number as usize]
                && own.is_empty()
            {
                *own = name;
            }
            return number;
        }
        let number = self.all.len() as u32;
        self.known.insert(ty, number);
        self.all.push(Type::Pointer(None));
        let full = self.all.len() >= TYPES;
        let made = match described {
            Described::Plain(name, size) => Type::Plain { name, size },
            Described::Struct(name, size, _) if full => Type::Plain { name, size },
            Described::Pointer(_) | Described::Array(..) if full => Type::Pointer(None),
            Described::Pointer(to) => Type::Pointer(to.map(|t| self.number(t))),
            Described::Array(Some(of), count) => Type::Array { of: self.number(of), count },
            Described::Array(None, _) | Described::Same(..) => Type::Plain { name: String::new(), size: 0 },
            Described::Struct(name, size, count) => {
                let fields = (0..count).filter_map(|i| ty.field(i));
                let fields = fields.map(|(name, offset, ty)| Field { name, offset, ty: self.number(ty) }).collect();
                Type::Struct { name, size, fields }
            }
        };
        self.all[number as usize] = made;
        number
    }
}
