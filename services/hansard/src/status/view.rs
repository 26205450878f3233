//! Writes the status as text and tables.

use std::io::{self, Write};

use system_status::Status;
use system_status::text::{PARTITION_COLUMNS, ROLE_COLUMNS, facts, partition_cells, role_cells};

use crate::table;

/// Writes the status.
pub(crate) fn write(out: &mut impl Write, status: &Status) -> io::Result<()> {
    for (name, text) in facts(status) {
        writeln!(out, "{name:12}{text}")?;
    }
    if !status.partitions.is_empty() {
        writeln!(out)?;
        let rows: Vec<_> = status.partitions.iter().map(partition_cells).collect();
        table::write(out, PARTITION_COLUMNS, &rows)?;
    }
    writeln!(out)?;
    match &status.roles {
        None => writeln!(out, "roles: not read")?,
        Some(roles) => {
            let rows: Vec<_> = roles.iter().map(role_cells).collect();
            table::write(out, ROLE_COLUMNS, &rows)?;
        }
    }
    writeln!(out)?;
    for warning in &status.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    if status.needs.is_empty() {
        return writeln!(out, "healthy");
    }
    writeln!(out, "needs an operator:")?;
    for need in &status.needs {
        writeln!(out, "  {need}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
